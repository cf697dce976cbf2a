import { decimal, defineOptions, duration, list, type OptionValues, onOff, text, wholeNumber } from '#base/options.ts'
import { checkFeatureGate, checkPortRange, checkRanges } from '#cmd/check-values.ts'
import { versionOptions } from '#cmd/component-versions.ts'
import { logOptions } from '#cmd/log-options.ts'
import { aggregationOptions } from '#cmd/up/options/aggregation.ts'
import { authenticationOptions, serviceAccountOptions } from '#cmd/up/options/authentication.ts'
import { authorizationOptions } from '#cmd/up/options/authorization.ts'
import { fairUseOptions } from '#cmd/up/options/fair-use.ts'
import { nodeOptions } from '#cmd/up/options/nodes.ts'
import { objectOptions } from '#cmd/up/options/objects.ts'
import { requestOptions } from '#cmd/up/options/requests.ts'
import { flagsWithoutEffect } from '#cmd/without-effect.ts'

const file = { placeholder: 'FILE', default: '' }
const port = { min: 0, max: 65_535 }
const none: readonly string[] = []

/** Upstream's names and defaults; those that `up` has too are declared once. */
export const apiserverOptions = defineOptions({
  etcdServers: list('where objects are kept: the etcd servers (http://HOST:PORT, https://HOST:PORT)', { placeholder: 'LIST', default: [] }),
  etcdCafile: text('the certificate authority (CA) of the etcd servers', file),
  etcdCertfile: text('the client certificate for etcd', file),
  etcdKeyfile: text('the private key of that certificate', file),
  etcdPrefix: text('where objects lie in etcd; no other place is possible here', { default: '/registry', choices: ['/registry'] }),
  etcdCompactionInterval: duration('how often old revisions are dropped; 0 leaves it to others', { default: 300_000, defaultText: '5m' }),

  bindAddress: text('serve on this address', { placeholder: 'ADDR', default: '0.0.0.0' }),
  securePort: wholeNumber('serve on this port', { ...port, default: 6443 }),
  advertiseAddress: text('by which others reach this server', {
    placeholder: 'ADDR',
    default: '',
    defaultText: "--bind-address, else the machine's",
  }),
  certDir: text('where a serving certificate is kept if none is given', { placeholder: 'DIR', default: '/var/run/kubernetes' }),
  tlsCertFile: text('the certificate to serve with', { ...file, defaultText: 'a self-signed one in --cert-dir' }),
  tlsPrivateKeyFile: text('the private key of that certificate', file),
  clientCaFile: text('believe client certificates of these authorities', file),
  kubeletClientCertificate: text('the certificate to show to kubelets', file),
  kubeletClientKey: text('the private key of that certificate', file),
  enableBootstrapTokenAuth: onOff('accept bootstrap tokens (secrets of the type bootstrap.kubernetes.io/token)', { default: false }),
  insecureBindAddress: text('legacy: where --insecure-port is served; none but the loopback address is possible here', {
    placeholder: 'ADDR',
    default: '127.0.0.1',
    choices: ['127.0.0.1', 'localhost'],
  }),

  serviceClusterIpRange: text('where services get their addresses from; two ranges for two families', {
    ...{
      placeholder: 'CIDR',
      default: '',
      defaultText: '10.0.0.0/24',
      check: (value: string) => (value === '' ? undefined : checkRanges(value)),
    },
  }),
  serviceNodePortRange: text('where services get their node ports from', {
    ...{ placeholder: 'FROM-TO', default: '30000-32767', check: checkPortRange },
  }),
  featureGates: list('switch features on or off (A=true,B=false)', { default: [], check: checkFeatureGate }),
  runtimeConfig: list('switch API versions on or off (storage.k8s.io/v1beta1=true, api/all=true)', { default: [] }),
  legacyApis: onOff('serve API versions that Kubernetes has removed', { default: true }),
  eventTtl: duration('how long events are kept', { default: 3_600_000, defaultText: '1h' }),
  shutdownDelayDuration: duration('go on serving for so long after /readyz has begun to fail', { default: 0, defaultText: '0s' }),
  ...authenticationOptions,
  ...serviceAccountOptions,
  serviceAccountIssuer: { ...serviceAccountOptions.serviceAccountIssuer, default: none },
  ...aggregationOptions,
  requestheaderClientCaFile: { ...aggregationOptions.requestheaderClientCaFile, defaultText: 'none: no proxy is believed' },
  requestheaderAllowedNames: { ...aggregationOptions.requestheaderAllowedNames, default: none },
  requestheaderUsernameHeaders: { ...aggregationOptions.requestheaderUsernameHeaders, default: none },
  requestheaderUidHeaders: { ...aggregationOptions.requestheaderUidHeaders, default: none },
  requestheaderGroupHeaders: { ...aggregationOptions.requestheaderGroupHeaders, default: none },
  requestheaderExtraHeadersPrefix: { ...aggregationOptions.requestheaderExtraHeadersPrefix, default: none },
  proxyClientCertFile: { ...aggregationOptions.proxyClientCertFile, defaultText: 'none' },
  ...authorizationOptions,
  authorizationMode: { ...authorizationOptions.authorizationMode, default: none, defaultText: 'AlwaysAllow' },
  ...nodeOptions,
  kubeletPreferredAddressTypes: {
    ...nodeOptions.kubeletPreferredAddressTypes,
    default: ['Hostname', 'InternalDNS', 'InternalIP', 'ExternalDNS', 'ExternalIP'],
  },
  peerCaFile: text('the authority that certificates of other API servers must come from, where requests are passed on to them', {
    ...{ placeholder: 'FILE', default: '', defaultText: "--client-ca-file's" },
  }),
  peerAdvertiseIp: text('by which other API servers reach this one', {
    ...{ placeholder: 'ADDR', default: '', defaultText: '--advertise-address' },
  }),
  peerAdvertisePort: text('the port at which other API servers reach this one', {
    ...{ placeholder: 'PORT', default: '', defaultText: '--secure-port' },
  }),
  ...objectOptions,
  enableAdmissionPlugins: { ...objectOptions.enableAdmissionPlugins, default: none },
  admissionControl: list('legacy: the admission plugins that run, and no others, in place of the two flags above', { default: [] }),
  ...requestOptions,
  ...fairUseOptions,
  auditLogMaxsize: { ...requestOptions.auditLogMaxsize, default: 100 },
  auditLogMaxbackup: { ...requestOptions.auditLogMaxbackup, default: 100 },
  auditLogMaxage: { ...requestOptions.auditLogMaxage, default: 366 },
  v: decimal("upstream's level of the log: 4 and more is debug", { default: 0 }),
  ...versionOptions,
  ...logOptions,
})

export type ApiserverFlags = OptionValues<typeof apiserverOptions>

/** Watches are always cached, answers are always small, privileged pods are always allowed: upstream's switches for it move nothing here. */
export const apiserverFlagsWithoutEffect = flagsWithoutEffect(
  'aggregator-reject-forwarding-redirect allow-metric-labels allow-metric-labels-manifest allow-privileged audit-log-batch-buffer-size',
  'audit-log-batch-max-size audit-log-batch-max-wait audit-log-batch-throttle-burst audit-log-batch-throttle-enable',
  'audit-log-batch-throttle-qps audit-log-compress audit-log-format audit-log-mode audit-log-truncate-enabled',
  'audit-log-truncate-max-batch-size audit-log-truncate-max-event-size audit-log-version audit-webhook-batch-buffer-size',
  'audit-webhook-batch-max-size audit-webhook-batch-max-wait audit-webhook-batch-throttle-burst audit-webhook-batch-throttle-enable',
  'audit-webhook-batch-throttle-qps audit-webhook-initial-backoff audit-webhook-mode audit-webhook-truncate-enabled',
  'audit-webhook-truncate-max-batch-size audit-webhook-truncate-max-event-size audit-webhook-version contention-profiling',
  'coordinated-leadership-lease-duration coordinated-leadership-renew-deadline coordinated-leadership-retry-period',
  'cors-allowed-origins debug-socket-path default-not-ready-toleration-seconds default-unreachable-toleration-seconds',
  'delete-collection-workers disable-http2-serving disabled-metrics egress-selector-config-file',
  'emulation-forward-compatible enable-garbage-collector enable-logs-handler endpoint-reconciler-type',
  'etcd-count-metric-poll-period etcd-db-metric-poll-interval etcd-healthcheck-timeout etcd-readycheck-timeout etcd-servers-overrides',
  'external-hostname goaway-chance http2-max-streams-per-connection kubelet-timeout kubernetes-service-node-port',
  'lease-reuse-duration-seconds livez-grace-period log-flush-frequency log-json-info-buffer-size log-json-split-stream',
  'log-text-info-buffer-size log-text-split-stream logging-format max-connection-bytes-per-sec',
  'min-request-timeout permit-address-sharing permit-port-sharing profiling',
  'runtime-config-emulation-forward-compatible service-account-lookup service-account-signing-endpoint',
  'show-hidden-metrics-for-version shutdown-send-retry-after shutdown-watch-termination-grace-period storage-backend',
  'storage-initialization-timeout storage-media-type strict-transport-security-directives tls-cipher-suites tls-curve-preferences',
  'tls-min-version tls-sni-cert-key tracing-config-file vmodule watch-cache watch-cache-sizes',
)
