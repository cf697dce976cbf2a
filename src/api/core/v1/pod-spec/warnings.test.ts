import assert from 'node:assert/strict'
import { test } from 'node:test'
import { podResource } from '#api/core/v1/pod/pod.ts'
import { overlappingPathWarnings } from '#api/core/v1/pod-spec/overlapping-paths.ts'
import { podTemplateWarnings } from '#api/core/v1/pod-spec/warnings.ts'
import type { V1PodSpec } from '#api/core/v1/types.gen.ts'
import { FeatureGates } from '#api/meta/feature-gates.ts'
import { tryCreate } from '#api/testing/try-kind.ts'

const { isEnabled } = new FeatureGates()

const warningsOf = (spec: object, annotations: { [key: string]: string } = {}, name = 'a'): string[] => {
  const pod = {
    metadata: { name, namespace: 'default', annotations },
    spec: { containers: [{ name: 'c', image: 'i' }], ...spec } as V1PodSpec,
  }
  return tryCreate(podResource, pod, { isEnabled }).warnings
}

test('pods are warned of what works but should not be used', () => {
  const cases: [string, object, string[]][] = [
    ['nothing', {}, []],
    [
      'an old label of nodes',
      { nodeSelector: { 'beta.kubernetes.io/os': 'linux' } },
      ['spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "kubernetes.io/os" instead'],
    ],
    [
      'a spread over nothing',
      { topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'z', whenUnsatisfiable: 'DoNotSchedule' }] },
      ['spec.topologySpreadConstraints[0].labelSelector: a null labelSelector results in matching no pod'],
    ],
    [
      'a volume that is gone',
      { volumes: [{ name: 'v', gitRepo: { repository: 'r' } }] },
      ['spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+'],
    ],
    [
      'files on top of each other',
      {
        volumes: [
          {
            name: 'v',
            configMap: {
              name: 'c',
              items: [
                { key: 'a', path: 'x' },
                { key: 'b', path: 'x/y' },
              ],
            },
          },
        ],
      },
      ['volume "v" (ConfigMap "c"): overlapping paths: "x/y" with "x"'],
    ],
    [
      'a secret twice',
      { imagePullSecrets: [{ name: 's' }, { name: 's' }, {}] },
      ['spec.imagePullSecrets[1].name: duplicate name "s"', 'spec.imagePullSecrets[2].name: invalid empty name ""'],
    ],
    [
      'a part of a byte',
      { containers: [{ name: 'c', image: 'i', resources: { requests: { memory: '100m' } } }] },
      ['spec.containers[0].resources.requests[memory]: fractional byte value "100m" is invalid, must be an integer'],
    ],
    [
      'a variable that hides another',
      {
        containers: [
          {
            name: 'c',
            image: 'i',
            env: [
              { name: 'A', value: '1' },
              { name: 'A', value: '2' },
            ],
          },
        ],
      },
      ['spec.containers[0].env[1]: hides previous definition of "A", which may be dropped when using apply'],
    ],
    [
      'a variable that builds on another',
      {
        containers: [
          {
            name: 'c',
            image: 'i',
            env: [
              { name: 'A', value: '1' },
              { name: 'A', value: '$(A)2' },
            ],
          },
        ],
      },
      [],
    ],
    [
      'a port twice',
      { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 1 }, { containerPort: 1 }] }] },
      ['spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]'],
    ],
    [
      'an address without a port',
      { containers: [{ name: 'c', image: 'i', ports: [{ containerPort: 1, hostIP: '1.2.3.4' }] }] },
      ['spec.containers[0].ports[0]: hostIP set without hostPort: {Name: HostPort:0 ContainerPort:1 Protocol:TCP HostIP:1.2.3.4}'],
    ],
    [
      'an address in a strange form',
      { hostAliases: [{ ip: '2001:DB8::1', hostnames: ['h'] }] },
      ['spec.hostAliases[0].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")'],
    ],
  ]
  for (const [name, spec, warnings] of cases) assert.deepEqual(warningsOf(spec), warnings, name)
})

test('names and annotations', () => {
  assert.deepEqual(warningsOf({}, {}, 'a.b'), [
    "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label is recommended: [must not contain dots]",
  ])
  const key = 'container.apparmor.security.beta.kubernetes.io/c'
  const deprecated = 'deprecated since v1.30; use the "appArmorProfile" field instead'
  assert.deepEqual(warningsOf({}, { [key]: 'runtime/default' }), [`metadata.annotations[${key}]: ${deprecated}`])
  const template = { metadata: { annotations: { [key]: 'unconfined' } }, spec: { containers: [{ name: 'c' }] } }
  assert.deepEqual(podTemplateWarnings(template, undefined, 'spec.template'), [`spec.template.metadata.annotations[${key}]: ${deprecated}`])
  const seccomp = 'seccomp.security.alpha.kubernetes.io/pod'
  assert.deepEqual(warningsOf({}, { [seccomp]: 'unconfined' }), [
    `metadata.annotations[${seccomp}]: non-functional in v1.27+; use the "seccompProfile" field instead`,
  ])
})

test('of thousands of sources that stand in the way of each other some are told', () => {
  const sources = Array.from({ length: 2000 }, () => ({ serviceAccountToken: { path: 'token' } }))
  const warnings = overlappingPathWarnings([{ name: 'v', projected: { sources } }])
  assert.equal(warnings[0], 'volume "v" (Projected): overlapping paths: "token" (ServiceAccountToken) with "token" (ServiceAccountToken)')
  assert.ok(warnings.length <= 100_000, `${warnings.length}`)
})
