import { decimal, defineOptions, duration, list, type OptionValues, onOff, repeated, text, wholeNumber } from '#base/options.ts'
import { dataDirectoryOption } from '#cmd/data-directory-option.ts'
import { leaderElectionOptions } from '#cmd/leader-election-options.ts'
import { logOptions } from '#cmd/log-options.ts'
import { flagsWithoutEffect } from '#cmd/without-effect.ts'

const minutes = (count: number) => ({ default: count * 60_000, defaultText: `${count}m0s` })
const seconds = (count: number) => ({ default: count * 1000, defaultText: `${count}s` })

/** Those that `up` takes as well. */
export const autoscalingOptions = defineOptions({
  expander: list(
    'which group grows where several could: random, most-pods, least-waste, least-nodes, price, priority; one after the other',
    {
      default: ['least-waste'],
    },
  ),
  scanInterval: duration('look at the cluster this often', seconds(10)),
  maxNodesTotal: wholeNumber('never more nodes than this in the cluster; 0: no limit', { min: 0, default: 0 }),
  balanceSimilarNodeGroups: onOff('share new nodes out among groups with the same machines', { default: false }),
  scaleDownDelayAfterAdd: duration('remove no node for so long after nodes were added', minutes(10)),
  scaleDownUnneededTime: duration('remove a node when it has not been needed for so long', minutes(10)),
  scaleDownUtilizationThreshold: decimal('a node whose pods ask for a smaller share of it may go', { default: 0.5 }),
})

/** By upstream's names and defaults, where not said. */
export const clusterAutoscalerOptions = defineOptions({
  cloudProvider: text(
    'who makes and removes nodes: typernetes is `up` on this machine, simulated this process, externalgrpc another program',
    {
      placeholder: 'NAME',
      default: 'typernetes',
      choices: ['typernetes', 'simulated', 'externalgrpc'],
    },
  ),
  nodes: repeated('a group of nodes: MIN:MAX:NAME; for simulated ones also their shape: 0:5:big,cpu=16,memory=64Gi,price=0.8', {
    placeholder: 'GROUP',
    default: [],
  }),
  dataDir: dataDirectoryOption,
  cloudConfig: text('the configuration of the provider: of externalgrpc, address, key, cert and cacert', {
    placeholder: 'FILE',
    default: '',
  }),
  kubeconfig: text('how the API server is reached', { placeholder: 'FILE', default: '' }),
  kubernetes: text("the API server's address, instead of the kubeconfig's", { placeholder: 'URL', default: '' }),
  namespace: text('where the status ConfigMap and the lease are', { placeholder: 'NAME', default: 'kube-system' }),
  address: text('serve health and metrics at this address', { placeholder: 'ADDR:PORT', default: ':8085' }),
  ...autoscalingOptions,
  coresTotal: text('the least and the most cores of the cluster', { placeholder: 'MIN:MAX', default: '0:320000', check: checkRange }),
  memoryTotal: text('the least and the most gigabytes of memory of the cluster', {
    placeholder: 'MIN:MAX',
    default: '0:6400000',
    check: checkRange,
  }),
  balancingIgnoreLabel: list('do not look at this label when groups are compared', { default: [] }),
  balancingLabel: list('look at these labels alone when groups are compared', { default: [] }),
  enforceNodeGroupMinSize: onOff('add nodes to groups that have fewer than they must', { default: false }),
  scaleUpFromZero: onOff('add nodes also where none is ready', { default: true }),
  newPodScaleUpDelay: duration('add no node for pods that are younger than this', seconds(0)),
  expendablePodsPriorityCutoff: wholeNumber('pods with a lower priority neither need nodes nor keep them', { default: -10 }),
  maxNodesPerScaleup: wholeNumber('add no more nodes than this at once', { min: 1, default: 1000 }),
  startupTaint: list('a node with this taint has not started yet', { default: [] }),
  ignoreTaint: list('the same, by its older name', { default: [] }),
  statusTaint: list('this taint says nothing about what new nodes will be like', { default: [] }),
  maxTotalUnreadyPercentage: decimal('stop when a larger share of the nodes is not ready', { default: 45 }),
  okTotalUnreadyCount: wholeNumber('unless it is no more nodes than this', { min: 0, default: 3 }),
  maxNodeProvisionTime: duration('how long a new node may take to register', minutes(15)),
  initialNodeGroupBackoffDuration: duration('leave a group alone for so long after it has failed', minutes(5)),
  maxNodeGroupBackoffDuration: duration('and never longer than this', minutes(30)),
  nodeGroupBackoffResetTimeout: duration('forget failures after this time', minutes(180)),
  scaleDownEnabled: onOff('remove nodes that are not needed', { default: true }),
  scaleDownUnreadyEnabled: onOff('also nodes that are not ready', { default: true }),
  scaleDownUnreadyTime: duration('remove a node that is not ready when it has not been needed for so long', minutes(20)),
  scaleDownDelayAfterDelete: duration('remove no node for so long after one was removed', seconds(0)),
  scaleDownDelayAfterFailure: duration('remove no node for so long after that has failed', minutes(3)),
  scaleDownGpuUtilizationThreshold: decimal('the same threshold for nodes with a GPU', { default: 0.5 }),
  unremovableNodeRecheckTimeout: duration('look again at a node that could not be removed after this time', minutes(5)),
  ignoreDaemonsetsUtilization: onOff('what daemon sets ask for is no use of a node', { default: false }),
  ignoreMirrorPodsUtilization: onOff('nor what mirror pods ask for', { default: false }),
  skipNodesWithSystemPods: onOff('keep nodes with pods of kube-system that have no disruption budget', { default: true }),
  skipNodesWithLocalStorage: onOff('keep nodes with pods that have local storage', { default: true }),
  skipNodesWithCustomControllerPods: onOff('keep nodes with pods of controllers that are not known', { default: true }),
  blockingSystemPodDistruptionTimeout: duration('pods of kube-system keep a node for no longer than this', minutes(60)),
  minReplicaCount: wholeNumber('keep nodes with pods of replica sets that have fewer replicas', { min: 0, default: 0 }),
  maxEmptyBulkDelete: wholeNumber('remove no more empty nodes than this at a time', { min: 1, default: 10 }),
  maxScaleDownParallelism: wholeNumber('remove no more nodes than this at a time', { min: 1, default: 10 }),
  maxDrainParallelism: wholeNumber('drain no more nodes than this at a time', { min: 0, default: 1 }),
  maxGracefulTerminationSec: wholeNumber('pods get no longer than this to end', { min: 0, default: 600 }),
  maxPodEvictionTime: duration('try to evict a pod for so long', minutes(2)),
  nodeDeletionDelayTimeout: duration('wait for annotations that delay a deletion for so long', minutes(2)),
  nodeDeleteDelayAfterTaint: duration('wait for so long after a node was marked', seconds(5)),
  maxBulkSoftTaintCount: wholeNumber('mark no more nodes softly than this in a round; 0 marks none', { min: 0, default: 10 }),
  cordonNodeBeforeTerminating: onOff('make nodes unschedulable before they are drained', { default: true }),
  daemonsetEvictionForEmptyNodes: onOff('evict pods of daemon sets from empty nodes', { default: false }),
  daemonsetEvictionForOccupiedNodes: onOff('evict pods of daemon sets from other nodes', { default: true }),
  writeStatusConfigmap: onOff('write how groups are to a ConfigMap', { default: true }),
  statusConfigMapName: text('the name of that ConfigMap', { placeholder: 'NAME', default: 'cluster-autoscaler-status' }),
  schedulerConfigFile: text("the scheduler's configuration, where it is not the default", { placeholder: 'FILE', default: '' }),
  ...leaderElectionOptions('autoscalers', 'cluster-autoscaler'),
  leaderElectResourceNamespace: text('the namespace of the lease', {
    placeholder: 'NAME',
    default: '',
    defaultText: 'that of --namespace',
  }),
  ...logOptions,
})

export type ClusterAutoscalerFlags = OptionValues<typeof clusterAutoscalerOptions>

/** There is one estimator, the log is ours, and nothing here is made for a cloud. */
export const clusterAutoscalerFlagsWithoutEffect = flagsWithoutEffect(
  'add-dir-header alsologtostderr async-node-groups aws-use-static-instance-list bulk-mig-instances-listing-enabled',
  'bypassed-scheduler-names check-capacity-batch-processing check-capacity-processor-instance cluster-name cluster-snapshot-parallelism',
  'clusterapi-cloud-config-authoritative debugging-snapshot-enabled drain-priority-config emit-per-nodegroup-metrics',
  'enable-dynamic-resource-allocation enable-proactive-scaleup enable-provisioning-requests estimator force-delete-failed-nodes',
  'force-delete-unregistered-nodes force-ds frequent-loops-enabled gce-concurrent-refreshes gce-expander-ephemeral-storage-support',
  'gpu-total grpc-expander-cert grpc-expander-url kube-api-content-type kube-client-burst kube-client-qps',
  'leader-elect-resource-lock log-backtrace-at log-dir log-file log-file-max-size logtostderr max-allocatable-difference-ratio',
  'max-binpacking-time max-bulk-soft-taint-time max-failing-time max-free-difference-ratio max-inactivity',
  'max-nodegroup-binpacking-duration memory-difference-ratio node-deletion-batcher-interval node-group-auto-discovery',
  'node-info-cache-expire-time one-output parallel-drain parallel-scale-up pod-injection-limit profiling record-duplicated-events',
  'regional salvo-scale-up scale-down-candidates-pool-min-count scale-down-candidates-pool-ratio scale-down-delay-type-local',
  'scale-down-non-empty-candidates-count scale-down-simulation-timeout scale-from-unschedulable skip-headers skip-log-headers',
  'stderrthreshold user-agent v vmodule allowed-scheduler-names capacity-buffer-controller-enabled',
  'capacity-buffer-pod-dry-run-enabled capacity-buffer-pod-injection-enabled capacity-quotas-enabled',
  'check-capacity-provisioning-request-batch-timebox check-capacity-provisioning-request-max-batch-size',
  'dynamic-node-delete-delay-after-taint-enabled enable-csi-node-aware-scheduling enable-graceful-degradation',
  'fastpath-binpacking-enabled gce-mig-instances-min-refresh-wait-time max-node-skip-eval-time-tracker-enabled',
  'max-node-startup-time max-startup-time node-deletion-candidate-ttl node-removal-latency-tracking-enabled',
  'pending-pods-batching-timeout predicate-parallelism provisioning-request-initial-backoff-time',
  'provisioning-request-max-backoff-cache-size provisioning-request-max-backoff-time salvo-scale-up-budget',
  'scaleup-simulation-for-skipped-node-groups-enabled scheduler-verbosity startup-taint-prefix',
)

function checkRange(value: string): string | undefined {
  const [, min, max] = /^(\d+):(\d+)$/.exec(value) ?? []
  return min !== undefined && Number(max) >= Number(min) ? undefined : 'is not a range such as 0:100'
}
