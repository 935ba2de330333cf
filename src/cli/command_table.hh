// SPDX-License-Identifier: LGPL-3.0-or-later
// What commands there are and how they are used: the source of --help, the man page and the shell completion.
// The options of stores are in assembly/options.hh.
#pragma once

#include <cstddef>
#include <string_view>

namespace xec {

inline constexpr const char* kProgramSummary =
    "XEC: an erasure-coded object store on XRootD servers or local directories.";
inline constexpr const char* kProgramHelp =
    "Every command that works on a store takes the same options (`xec put --help`), or -c FILE with the same "
    "as\n"
    "directives: --data DIR is the line `xec.data DIR`.\n\n"
    "Try it:\n"
    "  xec put --data /tmp/x/1 --data /tmp/x/2 --data /tmp/x/3 --geometry 2+1 /etc/hosts /hosts\n"
    "  rm -r /tmp/x/2\n"
    "  xec cat --data /tmp/x/1 --data /tmp/x/2 --data /tmp/x/3 /hosts\n";

struct CommandText {
  const char* name;
  const char* summary;
  const char* operands;  // as printed in the usage line; "" = none
  size_t operands_min;
  size_t operands_max;
  bool store;  // takes the options of a store
  const char* examples;
};

constexpr size_t kAnyNumber = 1000000;

inline constexpr CommandText kCommands[] = {
    {"serve", "Run a gateway: stock xrootd in the foreground, answering root:// and http://", "", 0, 0, true,
     "  xec serve --data=/data/d{01..12}                 bash makes twelve flags of it\n"
     "  xec serve --data /d1 --data /d2 --data /d3 --geometry 2+1 --port 1094\n"
     "  xec serve --origin root://redirector:1094 --geometry 8+2\n"
     "Ready when it prints a line that starts with `ready`; ctrl-C or SIGTERM stops it.\n"},
    {"config", "Print a ready-made configuration",
     "gateway|dataserver|redirector|rules|scitokens|unit|mount-unit", 1, 1, true,
     "  xec config gateway --server=root://disk{01..12}.example.org:1095 > /etc/xec/xec.conf\n"
     "  xec config gateway --voms --tokens --tpc --redirector redirector.example.org\n"
     "  xec config dataserver --sss > /etc/xrootd/xrootd-xec.cfg\n"
     "  xec config redirector > /etc/xrootd/xrootd-redirector.cfg\n"
     "  xec config rules > /etc/xrootd/rules              who may do what; scitokens: whose tokens count\n"
     "  xec config unit > /etc/systemd/system/xec.service\n"
     "  xec config mount-unit > /etc/systemd/system/xec-mount@.service\n"
     "Names of hosts, issuers and virtual organisations in it are examples, which docs/deployment.md has in "
     "one "
     "piece.\n"},
    {"doctor", "Look whether a gateway has all that it needs, and say what to do", "", 0, 0, true,
     "  xec doctor -c /etc/xec/xec.conf                  as root, or as the gateway's user\n"
     "The gateway need not run. A line each for versions, clock, host name, limits, ports, keys, "
     "certificates, token\n"
     "audience and data servers. Exit code 0: all is well. 5: there are warnings. 1: something fails.\n"},
    {"put", "Store local files as objects", "SRC... DST", 2, kAnyNumber, true,
     "  xec put -c xec.conf run1.root /data/run1.root    replaces what is there, atomically\n"
     "  xec put -c xec.conf *.root /data/                a trailing / means: into this directory\n"
     "  tar c dir | xec put -c xec.conf - /backup.tar    - is standard input\n"},
    {"get", "Copy an object to a local file", "SRC DST", 2, 2, true,
     "  xec get -c xec.conf /data/run1.root .            into a directory, under its own name\n"
     "  xec get -c xec.conf /backup.tar - | tar x        - is standard output\n"
     "DST appears when it is complete; an interrupted get leaves nothing.\n"},
    {"cat", "Write objects to standard output", "OBJECT...", 1, kAnyNumber, true,
     "  xec cat -c xec.conf /a /b > both\n"},
    {"ls", "List directories", "[PATH...]", 0, kAnyNumber, true,
     "  xec ls -c xec.conf /data\n  xec ls -c xec.conf -l -R /                       sizes, times, all "
     "levels\n"},
    {"stat", "Show what is known of an object or directory", "PATH...", 1, kAnyNumber, true,
     "  xec stat -c xec.conf --json /data/run1.root\n"},
    {"rm", "Remove objects, several at a time", "PATH...", 1, kAnyNumber, true,
     "  xec rm -c xec.conf /data/run1.root\n  xec rm -c xec.conf -r /data                      a directory "
     "with all in it\n"},
    {"mv", "Rename an object or directory", "FROM TO", 2, 2, true,
     "  xec mv -c xec.conf /data/a /data/b               replaces an object at the target\n"},
    {"mkdir", "Make directories", "DIRECTORY...", 1, kAnyNumber, true,
     "  xec mkdir -c xec.conf -p /data/2026/run1\n"},
    {"mount", "Mount a store, or XRootD servers, at a local directory",
     "[root://HOST[:PORT][//PATH]] DIRECTORY | status [DIRECTORY] | flush DIRECTORY", 1, 2, true,
     "  xec mount -c xec.conf /mnt/xec                   ready when the command ends\n"
     "  xec mount root://redirector:1094//atlas /mnt/atlas\n"
     "  xec mount -c xec.conf -o ro,allow_other /mnt/xec\n"
     "  xec mount status                                 what all mounts of this machine are at\n"
     "  xec mount flush /mnt/xec                         stores what is written, and forgets names\n"
     "  fusermount3 -u /mnt/xec                          ends it; as root also umount\n"
     "What a program has written is stored when it closes the file, or syncs it.\n"},
    {"locate", "Show on which server each chunk of an object lies", "OBJECT...", 1, kAnyNumber, true,
     "  xec locate -c xec.conf /data/run1.root\n"},
    {"verify", "Read and check every chunk of objects", "OBJECT...", 1, kAnyNumber, true,
     "  xec verify -c xec.conf /data/run1.root           names every bad chunk; exit code 6 if there is "
     "one\n"},
    {"health", "Show how the data servers answer, what redundancy is left, and what the next loss would mean",
     "", 0, 0, true,
     "  xec health -c xec.conf                           looks at every archive\n"
     "  xec health -c xec.conf --last                    in a moment: the count of the gateway's inventory\n"
     "  xec health -c xec.conf --servers                 the data servers only\n"
     "  xec health -c xec.conf --deep                    reads and checks every chunk\n"
     "  xec health -c xec.conf --watch                   --last, every few seconds until ctrl-C\n"
     "Exit code 0: all is well. 5: a data server does not answer or take writes, an object lacks redundancy, "
     "or "
     "that\n"
     "is not known. 6: objects are lost. What is under way does not count. --watch ends with 130; with "
     "--json it\n"
     "prints a line a round.\n"},
    {"lost", "Show which objects a server or disk holds, or held, a part of", "", 0, 0, true,
     "  xec lost -c xec.conf --server s03                what the loss of s03 means, from the gateway's "
     "inventory\n"
     "  xec lost -c xec.conf --server s03 --walk         the same, asked from every server now\n"
     "  xec lost -c xec.conf --disk /data/space7 --namespace /srv/names\n"
     "                                                   on a data server: which links of its name space "
     "dangle\n"
     "The store is given by -c FILE or --origin: --server says what is lost. Exit code 6: some objects are "
     "beyond\n"
     "repair; 3: there is no inventory.\n"},
    {"repair", "Write lost and damaged archives of objects anew, and verify them", "[OBJECT...]", 0,
     kAnyNumber, true,
     "  xec repair -c xec.conf /data/run1.root\n"
     "  xec repair -c xec.conf --all                     every object of the store; reads everything\n"
     "  xec repair -c xec.conf --all --lost              reads only what it takes to write lost archives "
     "anew\n"
     "  xec repair -c xec.conf --all --gone s03          the server s03 will never come back\n"
     "What a server that does not answer holds is left alone (exit code 5), unless it is said to be gone or "
     "its\n"
     "folder is: then it is written anew on other servers.\n"},
    {"balance", "Move archives from full data servers to emptier ones", "", 0, 0, true,
     "  xec balance -c xec.conf --dry-run                what would be moved, and how full each disk would "
     "be\n"
     "  xec balance -c xec.conf                          until each is within 5 points of the mean\n"
     "  xec balance -c xec.conf --within 2%\n"
     "No more is moved than that takes, and clients come first. What was interrupted is gone on with by the "
     "same\n"
     "command. Exit code 5: not all disks are that near.\n"},
    {"clean", "Remove now what interrupted work left behind", "", 0, 0, true, "  xec clean -c xec.conf\n"},
    {"plan", "Show which losses of servers and hosts a store survives", "", 0, 0, true,
     "  xec plan -c xec.conf                             of a store that there is, by its list of members\n"
     "  xec plan --servers 12 --hosts 6 --geometry 8+2   of one that there might be\n"
     "  xec plan --servers 12 --hosts 6 --geometry 8+2 --capacity 16TiB --json\n"
     "What is said holds for whichever servers are lost, and for objects that are put while all are there;\n"
     "xec health says what is left of those that exist.\n"},
    {"space", "Show what the store has, and what the groups of its space use", "", 0, 0, true,
     "  xec space -c xec.conf                            groups with their quotas, objects and free space\n"
     "  xec space -c xec.conf --json\n"
     "  xec space -c xec.conf --srr --name SITE --endpoint root://gw.example.org:1094\n"
     "The last one prints the document by which the WLCG collects space. Exit code 5: not counted yet.\n"},
    {"jobs", "Show, pause, resume or cancel what the gateways do in the background", "[VERB JOB]", 0, 2, true,
     "  xec jobs -c xec.conf                             every gateway's jobs, and where they are\n"
     "  xec jobs -c xec.conf pause repair                no gateway begins another repair, until\n"
     "  xec jobs -c xec.conf resume repair\n"
     "  xec jobs -c xec.conf cancel clean                the pass under way is given up; the next one begins "
     "anew\n"
     "Gateways obey within ten seconds, also those that are started later.\n"},
    {"server", "Show the data servers of the store, add, drain, remove or replace one", "[VERB SERVER]", 0, 2,
     true,
     "  xec server list -c xec.conf                      the members, with their addresses\n"
     "  xec server add -c xec.conf root://ds13:1095      an empty data server becomes a member\n"
     "  xec server drain -c xec.conf s03                 s03 gives up its names and archives\n"
     "  xec server drain -c xec.conf s03 --by 8h         ... by then, if that can be done at all\n"
     "  xec server remove -c xec.conf s03                ... and is taken off the list\n"
     "  xec server undo -c xec.conf                      the change under way goes back\n"
     "  xec server maintenance -c xec.conf s03 --for 2h  it is asked last and gets nothing new; resume ends "
     "it\n"
     "  xec server label -c xec.conf s03 --host rack7    it fails together with others of rack7\n"
     "  xec server replace -c xec.conf s03               an empty disk lies where that of s03 was\n"
     "  xec server replace -c xec.conf s03 --with /data/new13\n"
     "  xec server compare -c xec.conf s03               a part of what s03 had is lost: one of its disks, "
     "say\n"
     "With replace a new disk gets the identity of the lost one, learns all names again, and then what s03 "
     "held\n"
     "is written anew. The store answers meanwhile. What was interrupted is gone on with by the same "
     "command, "
     "or by\n"
     "gateways.\n"},
    {"recover", "Rebuild an object from copied archives, without any service", "FOLDER...", 1, kAnyNumber,
     false,
     "  xec recover copy/of/d01 copy/of/d07 -o run1.root\n"
     "  xec recover copies --object 3f2a90 -o run1.root  when the folders hold several objects\n"
     "  xec recover ds01 ds02 ds03 ds04 --name data/run1 --geometry 4+2 --chunk-size 64KiB -o run1.root\n"
     "The last form is for archives of stock XrdEc, which do not say what they belong to.\n"},
    {"version", "Print the version", "", 0, 0, false, ""},
};

// An option of some commands only.
struct OwnOption {
  const char* commands;  // blank-separated
  const char* flag;  // "-q,--quiet"
  const char* argument;  // "" = a switch
  const char* help;
};

inline constexpr OwnOption kOwnOptions[] = {
    {"doctor put get ls stat mount locate verify health plan lost repair balance clean space jobs server "
     "recover "
     "version",
     "--json", "", "Print JSON, one document"},
    {"put get recover repair balance verify lost server", "-q,--quiet", "", "No progress, no summary"},
    {"put", "--exclusive", "", "Fail when there is something under the name"},
    {"ls", "-l", "", "Sizes and times"},
    {"ls", "-R", "", "All levels below"},
    {"rm", "-r", "", "Directories with all in them"},
    {"repair", "--all", "", "Every object of the store, and a census at the end"},
    {"repair", "--lost", "",
     "With --all: go by the archives' directories, and read no more than it takes to write lost archives "
     "anew"},
    {"repair", "--dry-run", "", "Write nothing; tell what would be written, where and how many bytes"},
    {"repair", "--gone", "SERVER", "A member (s03, or its address) that is lost for good; may be repeated"},
    {"balance", "--within", "PERCENT",
     "How far the full part of each disk may be from that of all of them together, in points (1 to 50). "
     "Default: 5"},
    {"balance", "--dry-run", "", "Move nothing; tell what would be moved"},
    {"server", "--with", "PLACE",
     "The empty directory or data server that takes the place of the lost one; or where its disk is now"},
    {"server", "--for", "TIME", "How long a maintenance takes at most, 30 days at most. Default: 1h."},
    {"server", "--by", "TIME", "A drain has moved all archives by then, also at the cost of clients"},
    {"server", "--force", "", "A maintenance also where more servers would be away than may be"},
    {"server", "--host", "NAME", "Of label and add: servers that fail together have the same one"},
    {"server", "--dry-run", "", "Look at everything and change nothing"},
    {"health", "--servers", "", "The data servers only, no census of the objects"},
    {"health", "--last", "",
     "No count of the objects now: the one of the gateway's inventory, whose age is told, and which takes a "
     "moment"},
    {"health", "--watch", "", "Again every few seconds, with the count of --last"},
    {"health", "--deep", "", "Read and check every chunk, not only the archives' directories"},
    {"plan", "--servers", "N", "A store with so many data servers, in place of one that there is"},
    {"plan", "--hosts", "N", "On so many hosts, evenly; each server on its own when this is not said"},
    {"plan", "--capacity", "SIZE", "Space of each server"},
    {"lost", "--server", "SERVER",
     "A member (s03, or its address) that is lost, or that had the disk; may be repeated"},
    {"lost", "--disk", "PATH", "A data space (oss.space) that is lost, of the server on this host"},
    {"lost", "--namespace", "DIR",
     "Where the names of that server are (oss.localroot); without --disk every link there that dangles "
     "counts"},
    {"lost", "--walk", "", "Ask all servers for every object now, in place of the inventory"},
    {"lost", "--names-only", "", "The names of the objects, one a line, and nothing else"},
    {"lost health", "--inventory", "FILE", "The inventory to ask, in place of that of the gateway"},
    {"config", "--tls", "",
     "TLS and https, with the host's certificate; also with --voms, --tokens and --tpc"},
    {"config", "--voms", "", "Certificates of users, with attributes of virtual organisations"},
    {"config", "--tokens", "", "Tokens of issuers"},
    {"config", "--tpc", "", "Copies between sites, with macaroons"},
    {"config", "--sss", "", "Shared secrets: of clients for a gateway, of gateways for a data server"},
    {"config", "--krb5", "", "Kerberos tickets of users, for a gateway"},
    {"config", "--redirector", "HOST[:PORT]", "The gateway joins this redirector"},
    {"config", "--higher", "HOST[:PORT]", "The redirector joins this one, which is above it"},
    {"space", "--srr", "", "Print the WLCG's Storage Resource Reporting document"},
    {"space", "--name", "SITE", "With --srr: name of the storage service. Default: the id of the store"},
    {"space", "--endpoint", "URL", "With --srr: where clients find the store; may be repeated"},
    {"space", "--vo", "GROUP=VO",
     "With --srr: the virtual organisation of a group, which else has the name of the group; may be "
     "repeated"},
    {"mkdir", "-p", "", "Missing parents too; fine if it exists"},
    {"mount", "-f", "", "Stay in the foreground; the log is standard error"},
    {"mount", "-o", "OPTIONS",
     "Options, with commas, as of mount(8); docs/mount.md has them. May be repeated"},
    {"mount", "--log", "FILE", "Append the log to this file, in place of the system's log"},
    {"recover", "-o", "FILE", "Where to write the object; - is standard output"},
    {"recover", "--object", "ID", "Id of the object wanted, or its beginning, or its path"},
    {"recover", "--name", "PATH", "XrdEc: path of the archives below the folders"},
    {"recover", "--geometry", "K+M", "XrdEc: geometry of the object"},
    {"recover", "--chunk-size", "SIZE", "XrdEc: chunk size of the object"},
    {"recover", "--size", "BYTES", "XrdEc: size of the object, where its end is missing"},
};

constexpr bool TakesOption(const OwnOption& option, std::string_view command) {
  std::string_view rest = option.commands;
  while (!rest.empty()) {
    const size_t end = rest.find(' ');
    if (rest.substr(0, end) == command) return true;
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  return false;
}

}  // namespace xec
