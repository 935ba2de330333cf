# SPDX-License-Identifier: LGPL-3.0-or-later
# Completion of the program xec for bash. Made from the tables of the program: see src/cli/manual.hh.
_xec() {
  local word=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} flags
  local commands="serve config doctor put get cat ls stat rm mv mkdir mount locate verify health lost repair balance clean plan space jobs server recover version"
  local store="--data --server --origin --geometry --chunk-size --rule --group --layout --sync --checksums --min-redundancy --memory --cache --reserve --stripes-in-flight --retries --hedge-percent --metadata-timeout --read-timeout --write-timeout --hedge-delay --superseded-grace --upload-grace --tombstone-horizon --operation-limit --descriptor-interval"
  local gateway="--port --http-port --state --export --banned --user --xrootd --clean-interval --clean-rate --rebuild-after --audit --scratch --scratch-size --inventory --inventory-interval --inventory-rate"
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W "$commands --help --version" -- "$word"))
    return
  fi
  case "$previous" in
    --layout) COMPREPLY=($(compgen -W "native xrdec" -- "$word")); return ;;
    --sync) COMPREPLY=($(compgen -W "commit none" -- "$word")); return ;;
    --data | --state) mapfile -t COMPREPLY < <(compgen -d -- "$word"); return ;;
    -c | -o | --xrootd) mapfile -t COMPREPLY < <(compgen -f -- "$word"); return ;;
    --user) COMPREPLY=($(compgen -u -- "$word")); return ;;
  esac
  case "$command" in
    serve) flags="--help -c $store $gateway" ;;
    config) flags="--help --tls --voms --tokens --tpc --sss --krb5 --redirector --higher -c $store" ;;
    doctor) flags="--help --json -c $store" ;;
    put) flags="--help --json -q --quiet --exclusive -c $store" ;;
    get) flags="--help --json -q --quiet -c $store" ;;
    cat) flags="--help -c $store" ;;
    ls) flags="--help --json -l -R -c $store" ;;
    stat) flags="--help --json -c $store" ;;
    rm) flags="--help -r -c $store" ;;
    mv) flags="--help -c $store" ;;
    mkdir) flags="--help -p -c $store" ;;
    mount) flags="--help --json -f -o --log -c $store" ;;
    locate) flags="--help --json -c $store" ;;
    verify) flags="--help --json -q --quiet -c $store" ;;
    health) flags="--help --json --servers --last --watch --deep --inventory -c $store" ;;
    lost) flags="--help --json -q --quiet --server --disk --namespace --walk --names-only --inventory -c $store" ;;
    repair) flags="--help --json -q --quiet --all --lost --dry-run --gone -c $store" ;;
    balance) flags="--help --json -q --quiet --within --dry-run -c $store" ;;
    clean) flags="--help --json -c $store" ;;
    plan) flags="--help --json --servers --hosts --capacity -c $store" ;;
    space) flags="--help --json --srr --name --endpoint --vo -c $store" ;;
    jobs) flags="--help --json -c $store" ;;
    server) flags="--help --json -q --quiet --with --for --by --force --host --dry-run -c $store" ;;
    recover) flags="--help --json -q --quiet -o --object --name --geometry --chunk-size --size" ;;
    version) flags="--help --json" ;;
    *) flags="" ;;
  esac
  if [[ $word == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
  else
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -o filenames -F _xec xec
