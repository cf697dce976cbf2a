/** What each flag does, whichever command has it. */
const lines = `
accept-hosts: which names of this machine may be asked for, as a regular expression
accept-paths: which paths are passed on, as a regular expression
address: listen on these addresses
aggregation-rule: gather the rules of cluster roles with these labels
all: all objects of the given types in the namespace
all-containers: all containers of the pods
all-namespaces: in all namespaces
all-pods: all pods of the workload
allow-missing-template-keys: fields that are missing are no errors in templates
allowlist-entry: let credential programs with these properties run
annotation: add an annotation (key=value)
annotations: annotations of the new object
api-group: only resources of this API group
api-prefix: serve the API below this path
api-version: speak of this API version (group/version)
append-hash: add a hash of the content to the name
append-server-path: put the path of the server's URL before each path
appendarg: an argument that the alias adds at the end
arguments-only: do not run a shell with the command, pass arguments only
as: act as this user
as-current-user: run the plugin as the current user
as-group: act as a member of this group (may be repeated)
as-uid: act as the user with this UID
as-user-extra: further facts of the user to act as (key=value)
attach: connect to the container as if by attach
audience: whom the token is for (may be repeated)
auth-provider: the authentication provider of the user
auth-provider-arg: an argument of the authentication provider (key=value)
bound-object-kind: the token ends with an object of this kind (Pod, Secret, Node)
bound-object-name: the name of that object
bound-object-uid: the UID of that object
cache-dir: keep what is known of servers in this directory
cached: use what is known of the server, as far as it is
cascade: what becomes of what the object owns: background, foreground or orphan
categories: only resources of these categories
cert: the file of the certificate (PEM)
certificate-authority: the file of the certificate authority (CA) of the server
chunk-size: fetch large lists in pieces of this size; 0 fetches all at once
class: the ingress class
client: the version of this program only
client-certificate: the file of the client certificate
client-key: the file of the client's private key
cluster: the cluster of the kubeconfig to use
cluster-ip: the address of the service; None for a headless one
clusterip: the address of the service; None for a headless one
clusterrole: the cluster role to bind
command: what follows -- is the command, not its arguments
concurrency: how many objects to work on at once
container: the container's name
containers: which containers, with * as a wildcard
context: the context of the kubeconfig to use
copy-to: debug a copy of the pod under this name
cpu: the target of CPU usage
create-annotation: also set the annotation where there is none yet
current: change the current context
current-replicas: only where there are so many replicas now
custom: a file with a container to be merged into the debugging container
default-backend: the service that gets all other requests (service:port)
delete-emptydir-data: also evict pods whose emptyDir data will be lost
deployment-label-key: the label that tells the two controllers apart
description: when this class should be used
detach-keys: keys that detach from the container
disable-compression: ask for answers without compression
disable-eviction: delete pods instead of evicting them
disable-filter: pass everything on, which is dangerous
docker-email: the e-mail address for the registry
docker-password: the password for the registry
docker-server: the registry
docker-username: the user name for the registry
dry-run: none, client (send nothing) or server (send, but keep nothing)
duration: how long the token is to be good for
edit: edit the objects first
embed-certs: put certificates into the kubeconfig itself
enable-alpha-plugins: let kustomize run plugins
enable-helm: let kustomize inflate Helm charts
env: environment variables (name=value)
exec-api-version: the API version that the credential program speaks
exec-arg: an argument of the credential program (may be repeated)
exec-command: the credential program
exec-env: an environment variable of the credential program (name=value)
exec-interactive-mode: whether the credential program may ask the user (Never, IfAvailable, Always)
exec-provide-cluster-info: tell the credential program of the cluster
expose: also make a service
external-ip: a further address that the service is reached at
external-name: the name that the service stands for
field-manager: the name that the changed fields are recorded under
field-selector: only objects with these fields (key=value)
filename: a file, a directory, a URL or - for the standard input
flatten: put all files' contents into the output
follow: go on as more is written
for: what to wait for, or what the events are about
force: do it without waiting, or where it would be refused
force-conflicts: take over fields that others manage
from: the object to make a job of
from-env-file: a file of lines name=value
from-file: a file or directory ([key=]path)
from-literal: a value (key=value)
generator: how to make the objects
global-default: for pods that name no class
grace-period: seconds that pods get to end; negative: their own
group: a group (may be repeated)
hard: the limits (name=amount,…)
helm-api-versions: API versions that charts are told of
helm-command: the helm program
helm-debug: let helm tell more
helm-kube-version: the version that charts are told of
ignore-daemonsets: leave pods of daemon sets where they are
ignore-errors: go on after errors
ignore-not-found: what is not there is no error
image: the image to run
image-pull-policy: Always, IfNotPresent or Never
insecure-skip-tls-verify: do not check the server's certificate, which makes the connection insecure
insecure-skip-tls-verify-backend: do not check the certificate of the kubelet
interactive: ask before deleting
keep-annotations: the copy keeps the annotations
keep-init-containers: the copy keeps the init containers
keep-labels: the copy keeps the labels
keep-liveness: the copy keeps the liveness probes
keep-readiness: the copy keeps the readiness probes
keep-startup: the copy keeps the startup probes
keepalive: how often to show that the connection is alive
key: the file of the private key (PEM)
keys: only these keys
kubeconfig: the kubeconfig file to use
kuberc: the file of preferences to use
kustomize: a kustomization's directory
label-columns: labels that get a column of their own
labels: labels of the new object (key=value,…)
leave-stdin-open: keep the standard input open after the first attach
limit-bytes: at most so many bytes of logs
limits: the most that containers may use (cpu=…,memory=…)
list: list them all
load-balancer-ip: the address of the load balancer
load-restrictor: whether files outside of the kustomization may be read
local: do not ask the server
log-flush-frequency: how often logs are written out
match-server-version: refuse a server of another version
max: the most replicas
max-log-requests: follow at most so many logs at once
max-unavailable: how many pods may be unavailable
memory: the target of memory usage
merge: merge all kubeconfig files
min: the fewest replicas
min-available: how many pods must stay available
minify: only what the current context needs
mount: mount the volumes of the pod
name: the name of the new object
name-only: names without paths
namespace: the namespace to work in
namespaced: only resources with, or without, namespaces
namespaces: which namespaces
network: enable network access for functions
network-name: the network for functions
no-headers: leave the headings out
no-preserve: do not keep owner and mode of files
node-port: the port on the nodes
non-resource-url: URLs that are no resources
now: give pods only a second to end
openapi-patch: use the OpenAPI of the server to compute patches
option: a default of a flag (name=value)
output: the form of the output
output-directory: where to write files
output-patch: print the patch
output-version: the API version to write (group/version)
output-watch-events: show what kind of change each line is
override-type: how the override is merged: merge, strategic or json
overrides: JSON that is merged into the new object
overwrite: change what has a value already
password: the password for the server
patch: the patch
patch-file: a file with the patch
pod-running-timeout: how long to wait for a pod that runs
pod-selector: the pods on the nodes that are drained (label selector)
policy: the policies to show
poll-interval: how often to look whether pods run
port: the port
preemption-policy: whether pods of the class push others off nodes
prefix: put pod and container before each line
prependarg: an argument that the alias adds at the beginning
previous: of the container that ended before
privileged: a privileged debugging container
profile: which profile to use, or to record
profile-output: where to write the profile
protocol: TCP, UDP or SCTP
proxy-url: the proxy that leads to the cluster
prune: delete what was applied before and is no longer in the manifests
prune-allowlist: kinds that may be pruned (group/version/kind)
quiet: say less
raw: ask for this path as it is
recursive: also in directories below
reject-methods: which methods are refused, as a regular expression
reject-paths: which paths are refused, as a regular expression
remove-extra-permissions: also remove permissions that the manifests lack
remove-extra-subjects: also remove subjects that the manifests lack
replace: replace the original pod
replicas: how many replicas
request-timeout: give up requests after this time; 0: never
requests: what containers ask for (cpu=…,memory=…)
resolve: show references to secrets and config maps by their values
resource: which resources
resource-name: only resources of this name
resource-version: only where the object is of this version
restart: the restart policy of the pod
retries: how often to try again
revision: the revision
rm: delete the pod when it has ended
role: the role to bind
rollback: go back to the old controller
rule: host/path=service:port[,tls[=secret]]
same-node: run the copy on the same node
save-config: keep the manifest in an annotation, for later apply
schedule: when the job runs, as in cron
scopes: what the quota counts
section: defaults or aliases
selector: only objects with these labels
server: the address of the server
server-print: let the server make tables
server-side: let the server compute the changes
service-account: the service account
serviceaccount: a service account
session-affinity: None or ClientIP
set-image: other images (container=image)
set-raw-bytes: the value is not to be read as base64
share-processes: containers of the copy see each other's processes
show-capacity: of the capacity, not of what may be allocated
show-events: also the events of the object
show-kind: put the kind before each name
show-labels: show all labels in a last column
show-managed-fields: also show who manages which fields
show-secrets: also show secret values
show-swap: also show swap
since: only what is younger than this
since-time: only what is younger than this time (RFC3339)
skip-wait-for-delete-timeout: do not wait for pods that are being deleted for longer than this
sort-by: sort by the value at this path
stdin: pass the standard input on
subresource: of this subresource
sum: add a line with the sum
tail: only so many lines from the end
target: the container whose processes are to be seen
target-port: the port in the pod, or its name
tcp: ports (port[:targetPort])
template: the template, or its file
timeout: how long to wait; 0: for ever, or not at all
timestamps: put the time before each line
tls-server-name: the name that the server's certificate must have
to-revision: the revision to go back to; 0: the one before
token: the bearer token for the server
tty: give the container a terminal
type: the type
types: which types of events
unix-socket: serve on this socket
update-period: how long to wait between two pods
use-protocol-buffers: ask for metrics in protobuf
user: the user of the kubeconfig to use, or of the object
username: the user name for the server
v: how much to log
validate: strict, warn or ignore: what becomes of fields that the server does not know
value: the value
verb: which verbs
verbs: only resources with these verbs
vmodule: how much to log for which files
wait: wait until it is done
warnings-as-errors: warnings of the server end the command with an error
watch: go on with changes
watch-only: changes only
windows-line-endings: write line breaks as Windows has them
www: also serve this directory
www-prefix: serve that directory below this path
`

export const flagTexts: Readonly<Record<string, string>> = Object.fromEntries(
  lines
    .trim()
    .split('\n')
    .map((line) => {
      const colon = line.indexOf(': ')
      return [line.slice(0, colon), line.slice(colon + 2)]
    }),
)
