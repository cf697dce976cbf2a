/** `typernetes controller-manager`: the controllers alone, against any API server. */
import {
  addOptions,
  type Command,
  defineOptions,
  duration,
  list,
  type OptionValues,
  onOff,
  optionValues,
  text,
  wholeNumber,
} from '#base/options.ts'

export const controllerManagerOptions = defineOptions({
  kubeconfig: text('how the API server is reached', { placeholder: 'FILE', default: '' }),
  controllers: list("which controllers run, in upstream's syntax (*,-job,…)", { placeholder: 'LIST', default: ['*'] }),
  useServiceAccountCredentials: onOff('let each controller act as a service account of its own', { default: false }),
  leaderElect: onOff('of several controller managers let one do the work', { default: true }),
  leaderElectLeaseDuration: duration('how long others wait before they take over', { default: 15_000, defaultText: '15s' }),
  leaderElectRenewDeadline: duration('how long the leader tries to renew before it gives up', { default: 10_000, defaultText: '10s' }),
  leaderElectRetryPeriod: duration('how often to try', { default: 2000, defaultText: '2s' }),
  leaderElectResourceName: text('the name of the lease', { placeholder: 'NAME', default: 'kube-controller-manager' }),
  leaderElectResourceNamespace: text('the namespace of the lease', { placeholder: 'NAME', default: 'kube-system' }),
  rootCaFile: text('the authority that is published to pods', { placeholder: 'FILE', default: '' }),
  allocateNodeCidrs: onOff('give each node a range of pod addresses', { default: false }),
  clusterCidr: list('where pods get their addresses from', { placeholder: 'CIDR', default: [] }),
  serviceClusterIpRange: list('where services get theirs from', { placeholder: 'CIDR', default: [] }),
  nodeCidrMaskSizeIpv4: wholeNumber('how large the range of a node is', { default: 0, defaultText: '24' }),
  nodeCidrMaskSizeIpv6: wholeNumber('how large the IPv6 range of a node is', { default: 0, defaultText: '64' }),
  nodeMonitorPeriod: duration('how often nodes are looked at', { default: 5000, defaultText: '5s' }),
  nodeMonitorGracePeriod: duration('how long a node may be silent', { default: 50_000, defaultText: '50s' }),
  nodeStartupGracePeriod: duration('how long a new node may be silent', { default: 60_000, defaultText: '1m' }),
  largeClusterSizeThreshold: wholeNumber('more nodes than this are a large zone', { default: 50 }),
  terminatedPodGcThreshold: wholeNumber('how many finished pods are kept', { default: 12_500 }),
  maxEndpointsPerSlice: wholeNumber('how many endpoints a slice holds', { default: 100 }),
  featureGates: list('switch features on or off (A=true,B=false)', { placeholder: 'LIST', default: [] }),
  logLevel: text('how much is logged', { placeholder: 'LEVEL', default: 'info', choices: ['debug', 'info', 'warn', 'error'] }),
})

export type ControllerManagerFlags = OptionValues<typeof controllerManagerOptions>

export function controllerManagerCommand(command: Command): void {
  addOptions(command, controllerManagerOptions)
  command.action(async () => {
    const { runControllerManager } = await import('#cmd/controller-manager/controller-manager.ts')
    await runControllerManager(optionValues(command, controllerManagerOptions))
  })
}
