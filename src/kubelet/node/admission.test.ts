import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { V1Node, V1Pod, V1PodSpec } from '#api/core/v1/types.gen.ts'
import { omitEmpty } from '#base/omit-empty.ts'
import { type Admission, rejectionOf } from '#kubelet/node/admission.ts'

const aPod = (spec: Partial<V1PodSpec> = {}, labels: Record<string, string> = {}): V1Pod => ({
  metadata: { name: 'web', namespace: 'default', labels },
  spec: { containers: [{ name: 'app' }], ...spec },
})
const asking = (requests: Record<string, string>) => aPod({ containers: [{ name: 'app', resources: { requests } }] })
const withPort = (hostPort: number, hostIP?: string) =>
  aPod({ containers: [{ name: 'app', ports: [{ containerPort: 80, hostPort, ...omitEmpty({ hostIP }) }] }] })
const tainted: V1Node = { metadata: { name: 'n1' }, spec: { taints: [{ key: 'gone', effect: 'NoExecute' }] } }
const requires = (key: string, operator: string, values: string[]): Partial<V1PodSpec> => ({
  affinity: {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator, values }] }] },
    },
  },
})

const usual: Admission = {
  node: { metadata: { name: 'n1', labels: { disk: 'hdd', size: '5' } }, spec: {} },
  operatingSystem: 'linux',
  allocatable: { cpu: '2', memory: '4Gi', 'ephemeral-storage': '10Gi', pods: '3' },
  others: [],
  isStatic: false,
}

const cases: [name: string, pod: V1Pod, admission: Partial<Admission>, rejection: string | undefined][] = [
  ['a pod that asks for nothing', aPod(), {}, undefined],
  ['as much as there is', asking({ cpu: '2', memory: '4Gi' }), {}, undefined],
  [
    'more cpu than is left',
    asking({ cpu: '1500m' }),
    { others: [asking({ cpu: '1' })] },
    "OutOfcpu Node didn't have enough resource: cpu, requested: 1500, used: 1000, capacity: 2000",
  ],
  [
    'more memory than there is',
    asking({ memory: '5Gi' }),
    {},
    "OutOfmemory Node didn't have enough resource: memory, requested: 5368709120, used: 0, capacity: 4294967296",
  ],
  [
    'one pod too many',
    aPod(),
    { others: [aPod(), aPod(), aPod()] },
    "OutOfpods Node didn't have enough resource: pods, requested: 1, used: 3, capacity: 3",
  ],
  ['devices the node has never heard of', asking({ 'example.com/gpu': '1' }), {}, undefined],
  [
    'a label the node lacks',
    aPod({ nodeSelector: { disk: 'ssd' } }),
    {},
    "NodeAffinity Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector",
  ],
  ['an affinity the node meets', aPod(requires('size', 'Gt', ['4'])), {}, undefined],
  ['an affinity the node does not meet', aPod(requires('disk', 'NotIn', ['hdd'])), {}, 'NodeAffinity'],
  [
    'a port that is taken',
    withPort(80),
    { others: [withPort(80, '10.0.0.1')] },
    "NodePorts Predicate NodePorts failed: node(s) didn't have free ports for the requested pod ports",
  ],
  ['a port that is taken elsewhere', withPort(80, '10.0.0.2'), { others: [withPort(80, '10.0.0.1')] }, undefined],
  [
    'a taint it does not tolerate',
    aPod(),
    { node: tainted },
    "TaintToleration Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate",
  ],
  ['a taint it tolerates', aPod({ tolerations: [{ operator: 'Exists' }] }), { node: tainted }, undefined],
  ['a taint, for a static pod', aPod(), { node: tainted, isStatic: true }, undefined],
  [
    'another operating system',
    aPod({ os: { name: 'windows' } }),
    {},
    "PodOSNotSupported Failed to admit pod as the OS field doesn't match node OS",
  ],
  ['a label of another operating system', aPod({}, { 'kubernetes.io/os': 'windows' }), {}, 'PodOSSelectorNodeLabelDoesNotMatch'],
  [
    'strict groups where the runtime has none',
    aPod({ securityContext: { supplementalGroupsPolicy: 'Strict' } }),
    {},
    'SupplementalGroupsPolicyNotSupported SupplementalGroupsPolicy=Strict is not supported in this node',
  ],
]

for (const [name, pod, admission, expected] of cases) {
  test(`${name}: ${expected === undefined ? 'taken' : 'refused'}`, () => {
    const rejection = rejectionOf(pod, { ...usual, ...admission })
    const text = rejection && `${rejection.reason} ${rejection.message}`
    if (expected?.includes(' ') || expected === undefined) assert.equal(text, expected)
    else assert.equal(rejection?.reason, expected)
  })
}
