import { thisMachine } from '#base/machine.ts'
import { defineOptions, duration, list, type OptionValues, onOff, text, wholeNumber } from '#base/options.ts'
import { checkAddress, checkFeatureGate, checkPortRange, checkRanges } from '#cmd/check-values.ts'
import { logOptions } from '#cmd/log-options.ts'
import { usualDockerEndpoint } from '#cmd/runtime/docker-endpoint.ts'
import { aggregationOptions } from '#cmd/up/options/aggregation.ts'
import { authenticationOptions, serviceAccountOptions } from '#cmd/up/options/authentication.ts'
import { authorizationOptions } from '#cmd/up/options/authorization.ts'
import { edgeOptions } from '#cmd/up/options/edge.ts'
import { fairUseOptions } from '#cmd/up/options/fair-use.ts'
import { networkOptions } from '#cmd/up/options/network.ts'
import { nodeGroupOptions } from '#cmd/up/options/node-groups.ts'
import { nodeOptions } from '#cmd/up/options/nodes.ts'
import { objectOptions } from '#cmd/up/options/objects.ts'
import { requestOptions } from '#cmd/up/options/requests.ts'

const port = { min: 0, max: 65_535 }

/** Everything `up` can be told. */
export const upOptions = defineOptions({
  detach: onOff('return once the cluster is ready, and leave it running in the background', { short: 'd', isCommon: true, default: false }),
  dataDir: text('keep everything in this directory', {
    placeholder: 'DIR',
    isCommon: true,
    default: thisMachine().dataDirectory('typernetes'),
    defaultText: "the user's data directory",
  }),
  apiPort: wholeNumber('serve the API on this port; 0 takes any', { ...port, isCommon: true, default: 6443 }),
  listen: text('serve on this address', { placeholder: 'ADDR', isCommon: true, default: '127.0.0.1', check: checkAddress }),
  kubeconfig: text('write the admin kubeconfig to this file', {
    placeholder: 'FILE',
    isCommon: true,
    default: '',
    defaultText: 'DATA-DIR/admin.kubeconfig',
  }),
  mergeKubeconfig: onOff("also add the cluster to the user's own kubeconfig, as a context that is not made the current one", {
    isCommon: true,
    default: false,
  }),
  store: text('where objects are kept: sqlite, memory, etcd (run on this machine), or etcd://HOST:PORT,…', {
    placeholder: 'STORE',
    isCommon: true,
    default: 'sqlite',
  }),
  etcdCafile: text('the certificate authority (CA) of the etcd servers (etcd://)', { placeholder: 'FILE', default: '' }),
  etcdCertfile: text('the client certificate for etcd', { placeholder: 'FILE', default: '' }),
  etcdKeyfile: text('the private key of that certificate', { placeholder: 'FILE', default: '' }),
  etcdListen: text('also serve the store as etcd on this address', { placeholder: 'ADDR:PORT', default: '' }),
  snapshotInterval: duration('save a snapshot of the store this often; 0 does not', { default: 0, defaultText: '0s' }),
  snapshotKeep: wholeNumber('keep this many of those snapshots', { min: 1, max: 10_000, default: 5 }),
  snapshotDir: text('where those snapshots go', { placeholder: 'DIR', default: '', defaultText: 'DATA-DIR/snapshots' }),
  runtime: text('how pods are run', {
    placeholder: 'KIND',
    isCommon: true,
    default: 'auto',
    choices: ['auto', 'cri', 'docker', 'embedded', 'sim', 'none'],
  }),
  criSocket: text('the container runtime to use', { placeholder: 'PATH', default: '' }),
  dockerEndpoint: text('the Docker that --runtime docker uses', { placeholder: 'URL', default: usualDockerEndpoint }),
  nodes: wholeNumber('run this many nodes', { min: 0, max: 100, isCommon: true, default: 1 }),
  simNodes: wholeNumber('add this many simulated nodes', { min: 0, max: 16_384, isCommon: true, default: 0 }),
  cloudProvider: text('external: a cloud controller manager says what the nodes of this machine are, and pods come after that', {
    ...{ default: '', choices: ['', 'external'] },
  }),
  controllers: list("which controllers run, in upstream's syntax (*,-job,…)", { placeholder: 'LIST', default: ['*'] }),
  addonsDir: text(
    'keep the manifests of this directory applied that are labelled addonmanager.kubernetes.io/mode=Reconcile or EnsureExists',
    {
      placeholder: 'DIR',
      isCommon: true,
      default: '',
    },
  ),
  serviceCatalog: onOff('serve the kinds of the service catalog (servicecatalog.k8s.io), and ask service brokers for what users want', {
    default: false,
  }),
  storage: onOff('have a default storage class of directories on the nodes, and do for CSI drivers what sidecars would', { default: true }),
  nodeMonitorPeriod: duration('how often the health of nodes is checked', { default: 5000, defaultText: '5s' }),
  nodeMonitorGracePeriod: duration(
    'how long a node may be silent before it is marked unhealthy, and its pods leave the services; kubelets speak every 10 s',
    { default: 50_000, defaultText: '50s' },
  ),
  scheduler: onOff('run the scheduler', { default: true }),
  metricsServer: onOff('serve metrics.k8s.io for kubectl top and autoscalers, where the cluster has nodes', { default: true }),
  metricsAdapter: onOff('serve custom.metrics.k8s.io and external.metrics.k8s.io for autoscalers, from what is pushed there', {
    default: false,
  }),
  prometheusUrl: text('serve them from this Prometheus as well', { placeholder: 'URL', default: '' }),
  metricsAdapterConfig: text("by the rules of this file, as the Prometheus adapter's", { placeholder: 'FILE', default: '' }),
  verticalPodAutoscaler: onOff('run the vertical pod autoscaler, and serve its kinds (autoscaling.k8s.io)', { default: false }),
  ...nodeGroupOptions,
  legacyApis: onOff('serve API versions that Kubernetes has removed', { default: true }),
  serviceClusterIpRange: text('where services get their addresses from; two ranges for two families', {
    ...{ placeholder: 'CIDR', default: '10.96.0.0/16', check: checkRanges },
  }),
  proxyMode: text('how services are made to work on real nodes: none leaves it to somebody else', {
    ...{ placeholder: 'MODE', default: 'nftables', choices: ['nftables', 'iptables', 'ipvs', 'userspace', 'none'] },
  }),
  dns: onOff("serve the cluster's names to pods, as the service kube-dns", { default: true }),
  dnsListen: text("also serve the cluster's names at this address", { placeholder: 'ADDR:PORT', default: '' }),
  networkPolicy: onOff('enforce NetworkPolicy on real nodes', { default: true }),
  serviceNodePortRange: text('where services get their node ports from', {
    ...{ placeholder: 'FROM-TO', default: '30000-32767', check: checkPortRange },
  }),
  featureGates: list('switch features on or off (A=true,B=false)', { placeholder: 'LIST', default: [], check: checkFeatureGate }),
  runtimeConfig: list('switch API versions on or off (storage.k8s.io/v1beta1=true, api/all=true)', { placeholder: 'LIST', default: [] }),
  ...authenticationOptions,
  ...aggregationOptions,
  ...serviceAccountOptions,
  ...authorizationOptions,
  ...nodeOptions,
  ...networkOptions,
  ...edgeOptions,
  ...objectOptions,
  ...requestOptions,
  ...fairUseOptions,
  logLevel: { ...logOptions.logLevel, isCommon: true },
  logFormat: logOptions.logFormat,
})

export type UpOptions = OptionValues<typeof upOptions>

/** Who lays a pod's part of the network, and how. */
export function pluginsOf({ cniPlugins, podNetwork, iface, ifaceRegex }: UpOptions): {
  cniPlugins: string
  isKubenet: boolean
  uplink: { interfaces: readonly string[]; expressions: readonly string[] }
} {
  return {
    // Stock plugins know no pods without a bridge.
    cniPlugins: podNetwork === 'bgp' ? 'own' : cniPlugins,
    isKubenet: podNetwork === 'kubenet',
    uplink: { interfaces: iface, expressions: ifaceRegex },
  }
}
