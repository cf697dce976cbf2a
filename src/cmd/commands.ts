import type { Command } from '#base/options.ts'

/** A command declares its flags on the given `Command` and what to do with them. */
export type CommandSetup = (command: Command) => void

export type CommandEntry = { name: string; summary: string; load(): Promise<CommandSetup> }

/** Every command, in the order of the help. */
export const commands: readonly CommandEntry[] = [
  { name: 'up', summary: 'start a cluster', load: async () => (await import('#cmd/up/command.ts')).upCommand },
  { name: 'down', summary: 'stop a cluster', load: async () => (await import('#cmd/running/command.ts')).downCommand },
  {
    name: 'delete',
    summary: 'stop a cluster, end its pods and remove all of it',
    load: async () => (await import('#cmd/running/command.ts')).deleteCommand,
  },
  {
    name: 'status',
    summary: 'show how a cluster is, and what is wrong with it',
    load: async () => (await import('#cmd/running/command.ts')).statusCommand,
  },
  {
    name: 'logs',
    summary: 'print the logs of a cluster in the background',
    load: async () => (await import('#cmd/running/command.ts')).logsCommand,
  },
  {
    name: 'list',
    summary: 'list the clusters on this machine',
    load: async () => (await import('#cmd/running/command.ts')).listCommand,
  },
  {
    name: 'use',
    summary: "make a cluster the current one of the user's kubeconfig",
    load: async () => (await import('#cmd/running/command.ts')).useCommand,
  },
  {
    name: 'certs',
    summary: "show, renew or issue a cluster's certificates",
    load: async () => (await import('#cmd/certs/command.ts')).certsCommand,
  },
  {
    name: 'secrets',
    summary: 'show how secrets are encrypted on disk, begin with it, or replace the key',
    load: async () => (await import('#cmd/secrets/command.ts')).secretsCommand,
  },
  {
    name: 'snapshot',
    summary: "save a cluster's store, restore it, or check a snapshot",
    load: async () => (await import('#cmd/snapshot/command.ts')).snapshotCommand,
  },
  {
    name: 'store',
    summary: 'move the objects of a stopped cluster between the embedded store and etcd',
    load: async () => (await import('#cmd/store/command.ts')).storeCommand,
  },
  {
    name: 'init',
    summary: 'start a cluster that other machines can join',
    load: async () => (await import('#cmd/init/command.ts')).initCommand,
  },
  {
    name: 'join',
    summary: 'be a node of a cluster on another machine',
    load: async () => (await import('#cmd/join/command.ts')).joinCommand,
  },
  {
    name: 'upgrade',
    summary: 'bring a cluster to the version of this program, machine by machine',
    load: async () => (await import('#cmd/upgrade/command.ts')).upgradeCommand,
  },
  {
    name: 'reset',
    summary: 'undo what join has done to this machine',
    load: async () => (await import('#cmd/join/command.ts')).resetCommand,
  },
  {
    name: 'token',
    summary: 'make, list or delete bootstrap tokens',
    load: async () => (await import('#cmd/token/command.ts')).tokenCommand,
  },
  {
    name: 'images',
    summary: 'import, list or remove container images on this node',
    load: async () => (await import('#cmd/images/command.ts')).imagesCommand,
  },
  {
    name: 'node',
    summary: 'add, drain or remove nodes of a cluster on this machine',
    load: async () => (await import('#cmd/node/command.ts')).nodeCommand,
  },
  {
    name: 'apiserver',
    summary: 'run an API server (kube-apiserver) on etcd',
    load: async () => (await import('#cmd/apiserver/command.ts')).apiserverCommand,
  },
  {
    name: 'controller-manager',
    summary: 'run the controllers (kube-controller-manager) against an API server',
    load: async () => (await import('#cmd/controller-manager/command.ts')).controllerManagerCommand,
  },
  {
    name: 'cloud-controller-manager',
    summary: 'run the controllers that ask a cloud for machines, load balancers and routes (cloud-controller-manager)',
    load: async () => (await import('#cmd/cloud-controller-manager/command.ts')).cloudControllerManagerCommand,
  },
  {
    name: 'scheduler',
    summary: 'run the scheduler (kube-scheduler) against an API server',
    load: async () => (await import('#cmd/scheduler/command.ts')).schedulerCommand,
  },
  {
    name: 'cluster-autoscaler',
    summary: 'add and remove nodes as pods need them, against an API server',
    load: async () => (await import('#cmd/cluster-autoscaler/command.ts')).clusterAutoscalerCommand,
  },
  {
    name: 'descheduler',
    summary: 'evict pods that would be better off elsewhere (descheduler)',
    load: async () => (await import('#cmd/descheduler/command.ts')).deschedulerCommand,
  },
  {
    name: 'cluster-proportional-autoscaler',
    summary: "keep as many replicas as the cluster's nodes and cores ask for",
    load: async () => (await import('#cmd/cluster-proportional-autoscaler/command.ts')).proportionalAutoscalerCommand,
  },
  {
    name: 'addon-resizer',
    summary: "give a deployment's container what the size of the cluster asks for (pod_nanny)",
    load: async () => (await import('#cmd/addon-resizer/command.ts')).addonResizerCommand,
  },
  {
    name: 'kubelet',
    summary: 'run the kubelet of this node against an API server',
    load: async () => (await import('#cmd/kubelet/command.ts')).kubeletCommand,
  },
  {
    name: 'proxy',
    summary: 'run the service proxy (kube-proxy) against an API server',
    load: async () => (await import('#cmd/proxy/command.ts')).proxyCommand,
  },
  {
    name: 'runtime',
    summary: 'run the embedded container runtime alone, at a CRI socket',
    load: async () => (await import('#cmd/runtime/command.ts')).runtimeCommand,
  },
  {
    name: 'dns',
    summary: "serve a cluster's names",
    load: async () => (await import('#cmd/dns/command.ts')).dnsCommand,
  },
  {
    name: 'addons',
    summary: 'serve what a cluster has beside its components: names, metrics, Ingress, addresses of load balancers',
    load: async () => (await import('#cmd/addons/command.ts')).addonsCommand,
  },
  {
    name: 'keystone-webhook',
    summary: "check tokens with OpenStack's Keystone, as a webhook of an API server",
    load: async () => (await import('#cmd/keystone-webhook/command.ts')).keystoneWebhookCommand,
  },
  {
    name: 'link',
    summary: 'install the names that people type (kube-apiserver, kubelet, …) as links to this program',
    load: async () => (await import('#cmd/link/command.ts')).linkCommand,
  },
  {
    name: 'systemd',
    summary: 'print or write a systemd unit that runs one of these commands as a service',
    load: async () => (await import('#cmd/systemd/command.ts')).systemdCommand,
  },
  {
    name: 'explain',
    summary: 'explain whether a connection works, and why not',
    load: async () => (await import('#cmd/explain/command.ts')).explainCommand,
  },
  {
    name: 'schedule',
    summary: 'explain where a pod would be scheduled, or why it is pending',
    load: async () => (await import('#cmd/scheduler/schedule-command.ts')).scheduleCommand,
  },
  {
    name: 'new',
    summary: 'begin a project: an operator, an extension API server, or webhooks',
    load: async () => (await import('#cmd/new/command.ts')).newCommand,
  },
  {
    name: 'kubectl',
    summary: 'talk to a cluster: every command of kubectl (short: tn get, tn apply, …)',
    load: async () => (await import('#cmd/kubectl-command.ts')).kubectlCommand,
  },
  {
    name: 'config',
    summary: 'print the settings in force, or all there are',
    load: async () => (await import('#cmd/config/command.ts')).configCommand,
  },
  {
    name: 'completion',
    summary: 'print what a shell needs to complete commands and flags',
    load: async () => (await import('#cmd/help/completion-command.ts')).completionCommand,
  },
  { name: 'version', summary: 'print the version', load: async () => (await import('#cmd/version.ts')).versionCommand },
]
