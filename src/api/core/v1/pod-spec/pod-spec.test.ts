import assert from 'node:assert/strict'
import { test } from 'node:test'
import { podResource } from '#api/core/v1/pod/pod.ts'
import type { V1Container, V1PodSpec, V1Volume } from '#api/core/v1/types.gen.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { tryCreate } from '#api/testing/try-kind.ts'

const { isEnabled } = new FeatureGates()
const metadata = { name: 'a', namespace: 'default' }
const label =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"

const container = (more: object = {}): V1Container => ({ name: 'c', image: 'nginx', ...more }) as V1Container
const errorsOf = (spec: object): string[] =>
  tryCreate(podResource, { metadata, spec: { containers: [container()], ...spec } as V1PodSpec }, { isEnabled }).errors
const ofContainer = (more: object) => errorsOf({ containers: [container(more)] })
const ofVolume = (source: object) => errorsOf({ volumes: [{ name: 'v', ...source } as V1Volume] })

type Case = [name: string, given: object, errors: string[]]

const validate = (cases: readonly Case[], of: (given: object) => string[], prefix = '') => {
  for (const [name, given, errors] of cases)
    assert.deepEqual(
      of(given),
      errors.map((error) => prefix + error),
      name,
    )
}

test('containers', () => {
  const cases: Case[] = [
    ['a plain one', {}, []],
    ['no name', { name: '' }, ['name: Required value']],
    ['a name with capitals', { name: 'Web' }, [`name: Invalid value: "Web": ${label}`]],
    ['no image', { image: '' }, ['image: Required value']],
    ['a padded image', { image: ' nginx' }, ['image: Invalid value: " nginx": must not have leading or trailing whitespace']],
    [
      'an unknown pull policy',
      { imagePullPolicy: 'Often' },
      ['imagePullPolicy: Unsupported value: "Often": supported values: "Always", "IfNotPresent", "Never"'],
    ],
    [
      'an unknown message policy',
      { terminationMessagePolicy: 'Log' },
      ['terminationMessagePolicy: Unsupported value: "Log": supported values: "File", "FallbackToLogsOnError"'],
    ],
    ['a port without a number', { ports: [{}] }, ['ports[0].containerPort: Required value']],
    [
      'a port too high',
      { ports: [{ containerPort: 70000 }] },
      ['ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive'],
    ],
    [
      'two ports of one name',
      {
        ports: [
          { name: 'http', containerPort: 1 },
          { name: 'http', containerPort: 2 },
        ],
      },
      ['ports[1].name: Duplicate value: "http"'],
    ],
    [
      'a host port taken twice',
      {
        ports: [
          { containerPort: 1, hostPort: 80 },
          { containerPort: 2, hostPort: 80 },
        ],
      },
      ['ports[1].hostPort: Duplicate value: "TCP//80"'],
    ],
    ['a policy of restarts', { restartPolicy: 'OnFailure' }, []],
    [
      'rules without a policy',
      { restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [1] } }] },
      ['restartPolicy: Required value: must specify restartPolicy when restart rules are used'],
    ],
    [
      'a resize that restarts',
      { resizePolicy: [{ resourceName: 'disk', restartPolicy: 'NotRequired' }] },
      ['resizePolicy: Unsupported value: "disk": supported values: "cpu", "memory"'],
    ],
  ]
  validate(cases, ofContainer, 'spec.containers[0].')
  assert.deepEqual(errorsOf({ containers: [] }), ['spec.containers: Required value'])
  assert.deepEqual(errorsOf({ containers: [container(), container()] }), ['spec.containers[1].name: Duplicate value: "c"'])
})

test('environments', () => {
  const cases: Case[] = [
    ['a value', { env: [{ name: 'A', value: 'b' }] }, []],
    ['a name with blanks', { env: [{ name: 'a b', value: 'c' }] }, []],
    [
      'a name with an equals sign',
      { env: [{ name: 'a=b' }] },
      [
        'env[0].name: Invalid value: "a=b": a valid environment variable name must consist only of printable ASCII characters other than \'=\'',
      ],
    ],
    ['no name', { env: [{ name: '' }] }, ['env[0].name: Required value']],
    [
      'a value and a source',
      { env: [{ name: 'A', value: 'b', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
      ['env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty'],
    ],
    [
      'an empty source',
      { env: [{ name: 'A', valueFrom: {} }] },
      [
        'env[0].valueFrom: Invalid value: "": must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`',
      ],
    ],
    [
      'an unknown field',
      { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'spec.x' } } }] },
      ['env[0].valueFrom.fieldRef.fieldPath: Invalid value: "spec.x": error converting fieldPath: field label not supported: spec.x'],
    ],
    ['a label', { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } }] }, []],
    [
      'all labels',
      { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'metadata.labels' } } }] },
      [
        'env[0].valueFrom.fieldRef.fieldPath: Unsupported value: "metadata.labels": supported values: "metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"',
      ],
    ],
    [
      'a wrong divisor',
      { env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '2' } } }] },
      [
        'env[0].valueFrom.resourceFieldRef.divisor: Invalid value: "limits.cpu": only divisor\'s values 1m and 1 are supported with the cpu resource',
      ],
    ],
    [
      'a key that climbs',
      { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: '..k' } } }] },
      ['env[0].valueFrom.secretKeyRef.key: Invalid value: "..k": must not start with \'..\''],
    ],
    ['everything of nothing', { envFrom: [{}] }, ['envFrom: Invalid value: "": must specify one of: `configMapRef` or `secretRef`']],
    [
      'a file of a volume that is not there',
      { env: [{ name: 'A', valueFrom: { fileKeyRef: { volumeName: 'v', path: 'p', key: 'K' } } }] },
      ['env[0].valueFrom.fileKeyRef.volumeName: Not found: "v"'],
    ],
  ]
  validate(cases, ofContainer, 'spec.containers[0].')
})

test('probes and hooks', () => {
  const cases: Case[] = [
    ['over HTTP', { livenessProbe: { httpGet: { port: 'http' } } }, []],
    ['of nothing', { livenessProbe: {} }, ['livenessProbe: Required value: must specify a handler type']],
    [
      'of two kinds',
      { livenessProbe: { exec: { command: ['x'] }, tcpSocket: { port: 1 } } },
      ['livenessProbe.tcpSocket: Forbidden: may not specify more than 1 handler type'],
    ],
    ['of an empty command', { startupProbe: { exec: {} } }, ['startupProbe.exec.command: Required value']],
    [
      'with a threshold',
      { livenessProbe: { tcpSocket: { port: 1 }, successThreshold: 2 } },
      ['livenessProbe.successThreshold: Invalid value: 2: must be 1'],
    ],
    [
      'with a grace of its own',
      { readinessProbe: { tcpSocket: { port: 1 }, terminationGracePeriodSeconds: 3 } },
      ['readinessProbe.terminationGracePeriodSeconds: Invalid value: 3: must not be set for readinessProbes'],
    ],
    [
      'a negative delay',
      { readinessProbe: { tcpSocket: { port: 1 }, initialDelaySeconds: -1 } },
      ['readinessProbe.initialDelaySeconds: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      'a sleep beyond the grace',
      { lifecycle: { preStop: { sleep: { seconds: 31 } } } },
      ['lifecycle.preStop.sleep: Invalid value: 31: must be non-negative and less than terminationGracePeriodSeconds (30)'],
    ],
  ]
  validate(cases, ofContainer, 'spec.containers[0].')
  const lifecycle = { preStop: { exec: { command: ['x'] } } }
  assert.deepEqual(errorsOf({ initContainers: [{ name: 'i', image: 'i', lifecycle }] }), [
    'spec.initContainers[0].lifecycle: Forbidden: may not be set for init containers without restartPolicy=Always',
  ])
  assert.deepEqual(errorsOf({ initContainers: [{ name: 'i', image: 'i', restartPolicy: 'Always', lifecycle }] }), [])
})

test('resources', () => {
  const of = (resources: object) => ofContainer({ resources })
  const cases: Case[] = [
    ['usual ones', { requests: { cpu: '100m' }, limits: { cpu: '1', memory: '1Gi' } }, []],
    [
      'more than the limit',
      { requests: { cpu: '2' }, limits: { cpu: '1' } },
      ['requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
    ],
    [
      'an unknown name',
      { requests: { disk: '1' } },
      [
        'requests[disk]: Invalid value: "disk": must be a standard resource type or fully qualified',
        'requests[disk]: Invalid value: "disk": must be a standard resource for containers',
      ],
    ],
    ['a negative one', { requests: { cpu: '-1' } }, ['requests[cpu]: Invalid value: "-1": must be greater than or equal to 0']],
    [
      'half a device',
      { requests: { 'example.com/gpu': '500m' }, limits: { 'example.com/gpu': '500m' } },
      [
        'limits[example.com/gpu]: Invalid value: "500m": must be an integer',
        'requests[example.com/gpu]: Invalid value: "500m": must be an integer',
      ],
    ],
    [
      'a device without a limit',
      { requests: { 'example.com/gpu': '1' } },
      ['limits: Required value: Limit must be set for non overcommitable resources'],
    ],
    ['huge pages alone', { limits: { 'hugepages-2Mi': '4Mi' } }, [': Forbidden: HugePages require cpu or memory']],
    [
      'a part of a huge page',
      { limits: { cpu: '1', 'hugepages-2Mi': '3Mi' } },
      [
        'limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
        'requests[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
      ],
    ],
    [
      'a claim the pod does not have',
      { claims: [{ name: 'x' }] },
      ['claims[0]: Not found: "x": must be one of the names in pod.spec.resourceClaims which is empty'],
    ],
  ]
  for (const [name, given, errors] of cases) {
    assert.deepEqual(
      of(given),
      errors.map((error) => `spec.containers[0].resources${error.startsWith(':') ? '' : '.'}${error}`),
      name,
    )
  }
  const podLevel = { resources: { requests: { cpu: '1' } }, containers: [container({ resources: { requests: { cpu: '2' } } })] }
  assert.deepEqual(errorsOf(podLevel), [
    'spec.resources.requests[cpu]: Invalid value: "1": must be greater than or equal to aggregate container requests of 2',
  ])
})

test('claims of a container: a claim and its parts exclude each other, and not all of what is wrong is told', () => {
  const errorsWith = (claims: object[]) =>
    errorsOf({ resourceClaims: [{ name: 'a', resourceClaimName: 'a' }], containers: [container({ resources: { claims } })] })
  const at = 'spec.containers[0].resources.claims'
  const part = (request: string) => ({ name: 'a', request })
  assert.deepEqual(errorsWith([part('x'), part('y')]), [])
  assert.deepEqual(errorsWith([part('x'), part('x')]), [`${at}[1]: Duplicate value: "a/x"`])
  assert.deepEqual(errorsWith([part('x'), part('y'), { name: 'a' }]), [`${at}[2]: Duplicate value: "a"`, `${at}[2]: Duplicate value: "a"`])
  assert.deepEqual(errorsWith([{ name: 'a' }, part('x')]), [`${at}[1]: Duplicate value: "a"`])
  const many = errorsWith(Array.from({ length: 20_000 }, (_, index) => ({ name: `b${index}` })))
  assert.equal(many[0], `${at}[0]: Not found: "b0": must be one of the names in pod.spec.resourceClaims: a`)
  assert.ok(new Set(many).size <= 1001, `${new Set(many).size}`)
})

test('volumes', () => {
  const cases: Case[] = [
    ['none named means an empty directory', {}, []],
    ['two sources', { emptyDir: {}, hostPath: { path: '/x' } }, ['hostPath: Forbidden: may not specify more than 1 volume type']],
    ['a path that climbs', { hostPath: { path: '/a/../b' } }, ['hostPath.path: Invalid value: "/a/../b": must not contain \'..\'']],
    ['a config map without a name', { configMap: {} }, ['configMap.name: Required value']],
    [
      'a file outside of the volume',
      { secret: { secretName: 's', items: [{ key: 'k', path: '/p' }] } },
      ['secret.items[0].path: Invalid value: "/p": must be a relative path'],
    ],
    [
      'a mode that is none',
      { configMap: { name: 'c', defaultMode: 1000 } },
      ['configMap.defaultMode: Invalid value: 1000: must be a number between 0 and 0777 (octal), both inclusive'],
    ],
    [
      'a negative size',
      { emptyDir: { sizeLimit: '-1' } },
      ['emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity'],
    ],
    ['a relative export', { nfs: { server: 's', path: 'p' } }, ['nfs.path: Invalid value: "p": must be an absolute path']],
    [
      'a short-lived token',
      { projected: { sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 1 } }] } },
      [
        'projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 1: may not specify a duration less than 10 minutes',
        'projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set',
      ],
    ],
    [
      'files that collide',
      {
        projected: {
          sources: [
            { configMap: { name: 'c', items: [{ key: 'k', path: 'p' }] } },
            { secret: { name: 's', items: [{ key: 'k', path: 'p' }] } },
          ],
        },
      },
      ['projected: Invalid value: "s": conflicting duplicate paths'],
    ],
    ['a driver with blanks', { csi: { driver: 'a b' } }, [`csi.driver: Invalid value: "a b": ${subdomain}`]],
    ['an ephemeral claim of nothing', { ephemeral: {} }, ['ephemeral.volumeClaimTemplate: Required value']],
  ]
  validate(cases, ofVolume, 'spec.volumes[0].')
  const mounts = (volumeMounts: object[]) => errorsOf({ volumes: [{ name: 'v' }], containers: [container({ volumeMounts })] })
  assert.deepEqual(
    mounts([
      { name: 'v', mountPath: '/a' },
      { name: 'w', mountPath: '/a' },
    ]),
    [
      'spec.containers[0].volumeMounts[1].name: Not found: "w"',
      'spec.containers[0].volumeMounts[1].mountPath: Invalid value: "/a": must be unique',
    ],
  )
  assert.deepEqual(mounts([{ name: 'v', mountPath: '/a', mountPropagation: 'Bidirectional' }]), [
    'spec.containers[0].volumeMounts.mountPropagation: Forbidden: Bidirectional mount propagation is available only to privileged containers',
  ])
})

test('placement', () => {
  const required = (terms: object[]) => ({
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
  })
  const terms = 'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms'
  const cases: Case[] = [
    ['a term', required([{ matchExpressions: [{ key: 'a', operator: 'In', values: ['b'] }] }]), []],
    ['no terms', required([]), [`${terms}: Required value: must have at least one node selector term`]],
    [
      'an operator without values',
      required([{ matchExpressions: [{ key: 'a', operator: 'In' }] }]),
      [`${terms}[0].matchExpressions[0].values: Required value: must be specified when \`operator\` is 'In' or 'NotIn'`],
    ],
    [
      'an unknown operator',
      required([{ matchExpressions: [{ key: 'a', operator: 'Is' }] }]),
      [`${terms}[0].matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator`],
    ],
    [
      'a field other than the name',
      required([{ matchFields: [{ key: 'spec.x', operator: 'In', values: ['n'] }] }]),
      [`${terms}[0].matchFields[0].key: Invalid value: "spec.x": not a valid field selector key`],
    ],
    ['a toleration of all', { tolerations: [{ operator: 'Exists' }] }, []],
    [
      'a toleration without a key',
      { tolerations: [{ operator: 'Equal' }] },
      [
        'tolerations[0].operator: Invalid value: "Equal": operator must be Exists when `key` is empty, which means "match all values and all keys"',
      ],
    ],
    [
      'a toleration that compares',
      { tolerations: [{ key: 'a', operator: 'Gt', value: '1' }] },
      ['tolerations[0].operator: Unsupported value: "Gt": supported values: "Equal", "Exists", "Lt", "Gt"'],
    ],
    [
      'seconds without eviction',
      { tolerations: [{ key: 'a', effect: 'NoSchedule', tolerationSeconds: 1 }] },
      ['tolerations[0].effect: Invalid value: "NoSchedule": effect must be \'NoExecute\' when `tolerationSeconds` is set'],
    ],
    [
      'a spread of nothing',
      { topologySpreadConstraints: [{ maxSkew: 0, topologyKey: 'z', whenUnsatisfiable: 'Maybe' }] },
      [
        'topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero',
        'topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Maybe": supported values: "DoNotSchedule", "ScheduleAnyway"',
      ],
    ],
    [
      'a weight beyond the scale',
      {
        affinity: {
          podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 101, podAffinityTerm: { topologyKey: 'z' } }] },
        },
      },
      ['affinity.podAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].weight: Invalid value: 101: must be in the range 1-100'],
    ],
    ['a gate twice', { schedulingGates: [{ name: 'a/b' }, { name: 'a/b' }] }, ['schedulingGates[1]: Duplicate value: "a/b"']],
    [
      'a gate and a node',
      { schedulingGates: [{ name: 'a' }], nodeName: 'n' },
      ['nodeName: Forbidden: cannot be set until all schedulingGates have been cleared'],
    ],
  ]
  validate(cases, errorsOf, 'spec.')
})

test('security, names and the rest', () => {
  const cases: Case[] = [
    [
      'a user too high',
      { securityContext: { runAsUser: 2 ** 32 } },
      ['securityContext.runAsUser: Invalid value: 4294967296: must be between 0 and 2147483647, inclusive'],
    ],
    [
      'a profile of the node without a path',
      { securityContext: { seccompProfile: { type: 'Localhost' } } },
      ['securityContext.seccompProfile.localhostProfile: Required value: must be set when seccomp type is Localhost'],
    ],
    [
      'a path without need',
      { securityContext: { seccompProfile: { type: 'Unconfined', localhostProfile: 'x' } } },
      [
        'securityContext.seccompProfile.localhostProfile: Invalid value: {"Type":"Unconfined","LocalhostProfile":"x"}: can only be set when seccomp type is Localhost',
      ],
    ],
    [
      'a sysctl of the host',
      { hostNetwork: true, securityContext: { sysctls: [{ name: 'net/ipv4/tcp_x', value: '1' }] } },
      ['securityContext.sysctls[0].name: Invalid value: "net/ipv4/tcp_x": may not be specified when \'hostNetwork\' is true'],
    ],
    ['users of its own and processes of the host', { hostUsers: false, hostPID: true }, ['HostPID: Forbidden: when `hostUsers` is false']],
    ['Windows with Linux options', { os: { name: 'windows' }, hostPID: true }, ['hostPID: Forbidden: cannot be set for a windows pod']],
    ['an unknown system', { os: { name: 'plan9' } }, ['os: Unsupported value: "plan9": supported values: "linux", "windows"']],
    ['no name servers', { dnsPolicy: 'None' }, ['dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None']],
    [
      'too many name servers',
      { dnsConfig: { nameservers: ['1.1.1.1', '1.1.1.2', '1.1.1.3', '1.1.1.4'] } },
      ['dnsConfig.nameservers: Invalid value: ["1.1.1.1","1.1.1.2","1.1.1.3","1.1.1.4"]: must not have more than 3 nameservers'],
    ],
    [
      'an address that is none',
      { hostAliases: [{ ip: 'x', hostnames: ['h'] }] },
      ['hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'],
    ],
    [
      'an unknown policy',
      { restartPolicy: 'Sometimes' },
      ['restartPolicy: Unsupported value: "Sometimes": supported values: "Always", "OnFailure", "Never"'],
    ],
    [
      'a deadline of none',
      { activeDeadlineSeconds: 0 },
      ['activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, inclusive'],
    ],
    ['a host name with dots', { hostname: 'a.b' }, ['hostname: Invalid value: "a.b": must not contain dots']],
    [
      'a claim of nothing',
      { resourceClaims: [{ name: 'r' }] },
      [
        'resourceClaims[0]: Invalid value: {"Name":"r","ResourceClaimName":null,"ResourceClaimTemplateName":null}: must specify one of: `resourceClaimName`, `resourceClaimTemplateName`',
      ],
    ],
    [
      'containers that look in',
      { ephemeralContainers: [{ name: 'e', image: 'e' }] },
      ['ephemeralContainers: Forbidden: cannot be set on create'],
    ],
  ]
  validate(cases, errorsOf, 'spec.')
  assert.deepEqual(ofContainer({ securityContext: { privileged: true, allowPrivilegeEscalation: false } }), [
    'spec.containers[0].securityContext: Invalid value: {"Capabilities":null,"Privileged":true,"SELinuxOptions":null,"WindowsOptions":null,"RunAsUser":null,"RunAsGroup":null,"RunAsNonRoot":null,"ReadOnlyRootFilesystem":null,"AllowPrivilegeEscalation":false,"ProcMount":null,"SeccompProfile":null,"AppArmorProfile":null}: cannot set `allowPrivilegeEscalation` to false and `privileged` to true',
  ])
})

test('annotations that mean something to pods', () => {
  const of = (annotations: { [key: string]: string }) =>
    tryCreate(podResource, { metadata: { ...metadata, annotations }, spec: { containers: [container()] } }, { isEnabled }).errors
  const at = 'metadata.annotations'
  assert.deepEqual(of({ 'controller.kubernetes.io/pod-deletion-cost': '-5' }), [])
  assert.deepEqual(of({ 'controller.kubernetes.io/pod-deletion-cost': '+5' }), [
    `${at}[controller.kubernetes.io/pod-deletion-cost]: Invalid value: "+5": must be a 32bit integer`,
  ])
  assert.deepEqual(of({ 'kubernetes.io/config.mirror': 'x' }), [
    `${at}[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod annotation is set`,
  ])
  assert.deepEqual(of({ 'container.apparmor.security.beta.kubernetes.io/d': 'nope' }), [
    `${at}[container.apparmor.security.beta.kubernetes.io/d]: Invalid value: "d": container not found`,
    `${at}[container.apparmor.security.beta.kubernetes.io/d]: Invalid value: "nope": invalid AppArmor profile name: "nope"`,
  ])
})
