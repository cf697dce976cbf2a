/** `typernetes proxy`: a service proxy alone, against any API server. */

import { addOptions, type Command, decimal, defineOptions, duration, list, onOff, optionValues, text, wholeNumber } from '#base/options.ts'
import { checkFeatureGate } from '#cmd/check-values.ts'
import { logOptions } from '#cmd/log-options.ts'

const fromFile = { defaultText: "the file's" }
/** Upstream has the flag; nothing here depends on it. */
const ignored = 'accepted, without effect'

/** Upstream's names. What the configuration file can say too has no default of its own here. */
export const proxyOptions = defineOptions({
  kubeconfig: text('how the API server is reached', { placeholder: 'FILE', default: '', ...fromFile }),
  master: text('the API server, in place of the one in the kubeconfig', { placeholder: 'URL', default: '' }),
  hostnameOverride: text("the node's name", { placeholder: 'NAME', default: '', defaultText: "the machine's" }),
  proxyMode: text('how connections are led to endpoints; nftables where nothing is said', {
    ...{ placeholder: 'MODE', default: '', choices: ['nftables', 'iptables', 'ipvs', 'userspace'], ...fromFile },
  }),
  cleanup: onOff('remove what a proxy has left on this machine, and end', { default: false }),
  initOnly: onOff('do what needs root, and end', { default: false }),
  writeConfigTo: text('write the settings in force to this file, and end', { placeholder: 'FILE', default: '' }),
  bindAddress: text("the node's address; 0.0.0.0: as the API has it", { placeholder: 'ADDR', default: '0.0.0.0', ...fromFile }),
  bindAddressHardFail: onOff('end where an address cannot be listened on', { default: false, ...fromFile }),
  healthzBindAddress: text('say here whether all is well; empty does not', {
    placeholder: 'ADDR:PORT',
    default: '0.0.0.0:10256',
    ...fromFile,
  }),
  metricsBindAddress: text('serve metrics here; empty does not', { placeholder: 'ADDR:PORT', default: '127.0.0.1:10249', ...fromFile }),
  clusterCidr: text('the addresses of pods', { placeholder: 'CIDR', default: '', ...fromFile }),
  detectLocalMode: text('how packets of pods are known', {
    ...{ placeholder: 'MODE', default: '', choices: ['ClusterCIDR', 'NodeCIDR', 'BridgeInterface', 'InterfaceNamePrefix'], ...fromFile },
  }),
  podBridgeInterface: text('they come by this bridge', { placeholder: 'NAME', default: '', ...fromFile }),
  podInterfaceNamePrefix: text('they come by interfaces whose names begin so', { placeholder: 'TEXT', default: '', ...fromFile }),
  nodeportAddresses: list('where node ports answer: ranges, or primary', { default: [], ...fromFile }),
  masqueradeAll: onOff('masquerade everything that goes to cluster addresses', { default: false, ...fromFile }),
  iptablesMasqueradeBit: wholeNumber('the bit of the mark that asks for masquerading', { default: 14, ...fromFile }),
  iptablesLocalhostNodeports: onOff('let node ports answer on the loopback (iptables)', { default: true, ...fromFile }),
  iptablesSyncPeriod: duration('look after rules this often', { default: 30_000, ...fromFile }),
  iptablesMinSyncPeriod: duration('change rules no more often than this', { default: 1000, ...fromFile }),
  ipvsScheduler: text('how ipvs chooses', { placeholder: 'NAME', default: '', ...fromFile }),
  ipvsExcludeCidrs: list('virtual servers that ipvs leaves alone', { default: [], ...fromFile }),
  ipvsStrictArp: onOff('answer for addresses on their own interface only', { default: false, ...fromFile }),
  ipvsSyncPeriod: duration('look after ipvs this often', { default: 30_000, ...fromFile }),
  ipvsMinSyncPeriod: duration('change ipvs no more often than this', { default: 1000, ...fromFile }),
  ipvsTcpTimeout: duration('forget idle TCP connections after this; 0: as the kernel does', { default: 0, ...fromFile }),
  ipvsTcpfinTimeout: duration('forget ended TCP connections after this', { default: 0, ...fromFile }),
  ipvsUdpTimeout: duration('forget UDP conversations after this', { default: 0, ...fromFile }),
  conntrackMaxPerCore: wholeNumber('connections to keep track of, for each core', { default: 32_768, ...fromFile }),
  conntrackMin: wholeNumber('connections to keep track of at least', { default: 131_072, ...fromFile }),
  conntrackTcpBeLiberal: onOff('let packets outside of the window pass', { default: false, ...fromFile }),
  conntrackTcpTimeoutEstablished: duration('forget idle TCP connections after this', { default: 86_400_000, ...fromFile }),
  conntrackTcpTimeoutCloseWait: duration('forget half-closed TCP connections after this', { default: 3_600_000, ...fromFile }),
  conntrackUdpTimeout: duration('forget unanswered UDP conversations after this', { default: 0, ...fromFile }),
  conntrackUdpTimeoutStream: duration('forget answered UDP conversations after this', { default: 0, ...fromFile }),
  oomScoreAdj: wholeNumber('how gladly the kernel ends this process for want of memory', { default: -999, ...fromFile }),
  clusterId: text('a name for the cluster, in hexadecimal digits, where several share this machine', { placeholder: 'ID', default: '' }),
  configSyncPeriod: duration(ignored, { default: 900_000 }),
  featureGates: list(ignored, { default: [], check: checkFeatureGate }),
  kubeApiBurst: wholeNumber(ignored, { default: 10 }),
  kubeApiQps: decimal(ignored, { default: 5 }),
  kubeApiContentType: text(ignored, { default: 'application/vnd.kubernetes.protobuf' }),
  bootIdFile: text(ignored, { placeholder: 'FILE', default: '/proc/sys/kernel/random/boot_id' }),
  machineIdFile: text(ignored, { placeholder: 'FILE', default: '/etc/machine-id,/var/lib/dbus/machine-id' }),
  profiling: onOff(ignored, { default: false }),
  showHiddenMetricsForVersion: text(ignored, { default: '' }),
  logFlushFrequency: duration(ignored, { default: 5000 }),
  loggingFormat: text(ignored, { default: 'text' }),
  logJsonInfoBufferSize: text(ignored, { default: '' }),
  logJsonSplitStream: onOff(ignored, { default: false }),
  logTextInfoBufferSize: text(ignored, { default: '' }),
  logTextSplitStream: onOff(ignored, { default: false }),
  vmodule: text(ignored, { default: '' }),
  v: wholeNumber('how much is logged: 4 and more is everything', { default: 0 }),
  ...logOptions,
})

export function proxyCommand(command: Command): void {
  addOptions(command, proxyOptions, { hasOwnConfig: true })
  command.action(async () => {
    const { config } = command.opts()
    const wasGiven = (key: string) => command.getOptionValueSource(key) !== 'default'
    const { runProxyCommand } = await import('#cmd/proxy/proxy.ts')
    await runProxyCommand(optionValues(command, proxyOptions), typeof config === 'string' ? config : undefined, wasGiven)
  })
}
