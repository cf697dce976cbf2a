/** An object of every kind in the published definitions; where the kind has rules, one that breaks a rule, and what is said of it. */

export type Sample = {
  readonly plural: string
  readonly apiVersion: string
  readonly kind: string
  readonly spec: Readonly<Record<string, unknown>>
  /** What a second manager adds. */
  readonly more: Readonly<Record<string, unknown>>
  readonly isClusterWide?: true
  readonly broken?: { readonly spec: Readonly<Record<string, unknown>>; readonly message: RegExp }
}

const gateway = 'gateway.networking.k8s.io/v1'
const certificates = 'cert-manager.io/v1'
const acme = 'acme.cert-manager.io/v1'
const monitoring = 'monitoring.coreos.com/v1'
const monitoringAlpha = 'monitoring.coreos.com/v1alpha1'
const argo = 'argoproj.io/v1alpha1'

const backends = { rules: [{ backendRefs: [{ name: 'web', port: 80 }] }] }
const sameParentTwice = { parentRefs: [{ name: 'gw' }, { name: 'gw' }] }
const sectionNameNeeded = /sectionName .*must be (specified|unique) when parentRefs includes 2 or more references to the same parent/
const destination = { server: 'https://kubernetes.default.svc', namespace: 'default' }
const noVenafi = /exactly one of tpp, cloud, or ngts must be configured/

export const samples: readonly Sample[] = [
  {
    plural: 'gatewayclasses',
    apiVersion: gateway,
    kind: 'GatewayClass',
    isClusterWide: true,
    spec: { controllerName: 'example.com/gateway' },
    more: { description: 'the usual' },
    broken: { spec: { controllerName: 'example.com/other' }, message: /spec\.controllerName: Invalid value: .*field is immutable/ },
  },
  {
    plural: 'gateways',
    apiVersion: gateway,
    kind: 'Gateway',
    spec: { gatewayClassName: 'usual', listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
    more: { addresses: [{ type: 'IPAddress', value: '10.0.0.1' }] },
    broken: {
      spec: { gatewayClassName: 'usual', listeners: [{ name: 'http', port: 80, protocol: 'HTTP', tls: { mode: 'Passthrough' } }] },
      message: /tls must not be specified for protocols \['HTTP', 'TCP', 'UDP'\]/,
    },
  },
  {
    plural: 'httproutes',
    apiVersion: gateway,
    kind: 'HTTPRoute',
    spec: { parentRefs: [{ name: 'gw' }], rules: [{ matches: [{ path: { type: 'PathPrefix', value: '/' } }], backendRefs: [{ name: 'web', port: 80 }] }] },
    more: { hostnames: ['example.com'] },
    broken: { spec: sameParentTwice, message: sectionNameNeeded },
  },
  {
    plural: 'grpcroutes',
    apiVersion: gateway,
    kind: 'GRPCRoute',
    spec: { parentRefs: [{ name: 'gw' }], ...backends },
    more: { hostnames: ['example.com'] },
    broken: { spec: sameParentTwice, message: sectionNameNeeded },
  },
  {
    plural: 'tcproutes',
    apiVersion: gateway,
    kind: 'TCPRoute',
    spec: backends,
    more: { parentRefs: [{ name: 'gw' }] },
    broken: { spec: { ...backends, ...sameParentTwice }, message: sectionNameNeeded },
  },
  {
    plural: 'udproutes',
    apiVersion: gateway,
    kind: 'UDPRoute',
    spec: backends,
    more: { parentRefs: [{ name: 'gw' }] },
    broken: { spec: { ...backends, ...sameParentTwice }, message: sectionNameNeeded },
  },
  {
    plural: 'tlsroutes',
    apiVersion: gateway,
    kind: 'TLSRoute',
    spec: { hostnames: ['example.com'], ...backends },
    more: { parentRefs: [{ name: 'gw' }] },
    broken: { spec: { hostnames: ['10.0.0.1'], ...backends }, message: /spec\.hostnames: Invalid value: .*Hostnames cannot contain an IP/ },
  },
  {
    plural: 'listenersets',
    apiVersion: gateway,
    kind: 'ListenerSet',
    spec: { parentRef: { name: 'gw' }, listeners: [{ name: 'http', port: 80, protocol: 'HTTP' }] },
    more: { listeners: [{ name: 'other', port: 81, protocol: 'HTTP' }] },
    broken: {
      spec: { parentRef: { name: 'gw' }, listeners: [{ name: 'http', port: 80, protocol: 'HTTP', tls: { mode: 'Terminate' } }] },
      message: /tls must not be specified for protocols \['HTTP', 'TCP', 'UDP'\]/,
    },
  },
  {
    plural: 'referencegrants',
    apiVersion: gateway,
    kind: 'ReferenceGrant',
    spec: {
      from: [{ group: 'gateway.networking.k8s.io', kind: 'HTTPRoute', namespace: 'default' }],
      to: [{ group: '', kind: 'Service' }],
    },
    more: {},
  },
  {
    plural: 'backendtlspolicies',
    apiVersion: gateway,
    kind: 'BackendTLSPolicy',
    spec: {
      targetRefs: [{ group: '', kind: 'Service', name: 'web' }],
      validation: { hostname: 'example.com', wellKnownCACertificates: 'System' },
    },
    more: { options: { 'example.com/a': 'b' } },
    broken: {
      spec: {
        targetRefs: [
          { group: '', kind: 'Service', name: 'web' },
          { group: '', kind: 'Service', name: 'web' },
        ],
        validation: { hostname: 'example.com', wellKnownCACertificates: 'System' },
      },
      message: /sectionName must be (specified|unique) when targetRefs includes 2 or more references to the same target/,
    },
  },
  {
    plural: 'certificates',
    apiVersion: certificates,
    kind: 'Certificate',
    spec: { secretName: 'tls', issuerRef: { name: 'ca' }, dnsNames: ['example.com'] },
    more: { duration: '24h' },
  },
  { plural: 'certificaterequests', apiVersion: certificates, kind: 'CertificateRequest', spec: { issuerRef: { name: 'ca' }, request: 'AAAA' }, more: { isCA: true } },
  {
    plural: 'issuers',
    apiVersion: certificates,
    kind: 'Issuer',
    spec: { selfSigned: {} },
    more: { ca: { secretName: 'ca' } },
    broken: { spec: { venafi: { zone: 'z' } }, message: noVenafi },
  },
  {
    plural: 'clusterissuers',
    apiVersion: certificates,
    kind: 'ClusterIssuer',
    isClusterWide: true,
    spec: { selfSigned: {} },
    more: { ca: { secretName: 'ca' } },
    broken: { spec: { venafi: { zone: 'z' } }, message: noVenafi },
  },
  { plural: 'orders', apiVersion: acme, kind: 'Order', spec: { issuerRef: { name: 'acme' }, request: 'AAAA' }, more: { commonName: 'example.com' } },
  {
    plural: 'challenges',
    apiVersion: acme,
    kind: 'Challenge',
    spec: {
      authorizationURL: 'https://acme/a',
      dnsName: 'example.com',
      issuerRef: { name: 'acme' },
      key: 'k',
      solver: {},
      token: 't',
      type: 'HTTP-01',
      url: 'https://acme/c',
    },
    more: { wildcard: true },
  },
  { plural: 'prometheuses', apiVersion: monitoring, kind: 'Prometheus', spec: { replicas: 2 }, more: { version: 'v3.0.0' } },
  { plural: 'prometheusagents', apiVersion: monitoringAlpha, kind: 'PrometheusAgent', spec: { replicas: 2 }, more: { version: 'v3.0.0' } },
  { plural: 'alertmanagers', apiVersion: monitoring, kind: 'Alertmanager', spec: { replicas: 3 }, more: { version: 'v0.28.0' } },
  {
    plural: 'alertmanagerconfigs',
    apiVersion: monitoringAlpha,
    kind: 'AlertmanagerConfig',
    spec: { receivers: [{ name: 'nobody' }] },
    more: { route: { receiver: 'nobody' } },
  },
  {
    plural: 'podmonitors',
    apiVersion: monitoring,
    kind: 'PodMonitor',
    spec: { selector: { matchLabels: { app: 'a' } }, podMetricsEndpoints: [{ port: 'metrics' }] },
    more: { jobLabel: 'app' },
  },
  {
    plural: 'servicemonitors',
    apiVersion: monitoring,
    kind: 'ServiceMonitor',
    spec: { selector: { matchLabels: { app: 'a' } }, endpoints: [{ port: 'metrics' }] },
    more: { jobLabel: 'app' },
  },
  { plural: 'probes', apiVersion: monitoring, kind: 'Probe', spec: { prober: { url: 'prober:9115' } }, more: { module: 'http' } },
  {
    plural: 'prometheusrules',
    apiVersion: monitoring,
    kind: 'PrometheusRule',
    spec: { groups: [{ name: 'g', rules: [{ alert: 'Down', expr: 'up == 0' }] }] },
    more: { groups: [{ name: 'h', rules: [{ record: 'up:sum', expr: 'sum(up)' }] }] },
  },
  { plural: 'scrapeconfigs', apiVersion: monitoringAlpha, kind: 'ScrapeConfig', spec: { staticConfigs: [{ targets: ['a:1'] }] }, more: { metricsPath: '/m' } },
  {
    plural: 'thanosrulers',
    apiVersion: monitoring,
    kind: 'ThanosRuler',
    spec: { queryEndpoints: ['http://query'] },
    more: { replicas: 2 },
  },
  {
    plural: 'applications',
    apiVersion: argo,
    kind: 'Application',
    spec: { project: 'default', destination },
    more: { source: { repoURL: 'https://example.com/repo', path: '.', targetRevision: 'HEAD' } },
  },
  {
    plural: 'applicationsets',
    apiVersion: argo,
    kind: 'ApplicationSet',
    spec: {
      generators: [{ list: { elements: [{ cluster: 'a' }] } }],
      template: { metadata: { name: 'app-{{cluster}}' }, spec: { project: 'default', destination } },
    },
    more: { goTemplate: true },
  },
  { plural: 'appprojects', apiVersion: argo, kind: 'AppProject', spec: { sourceRepos: ['*'] }, more: { description: 'any' } },
]
