import assert from 'node:assert/strict'
import { test } from 'node:test'
import { flowSchemaResource } from '#api/flowcontrol/v1/flow-schema.ts'
import { mandatoryFlowSchemas, mandatoryPriorityLevels } from '#api/flowcontrol/v1/mandatory-configuration.ts'
import { priorityLevelConfigurationResource } from '#api/flowcontrol/v1/priority-level-configuration.ts'
import type { V1FlowSchema, V1FlowSchemaSpec, V1PriorityLevelConfiguration, V1QueuingConfiguration } from '#api/flowcontrol/v1/types.gen.ts'
import { tryCreate, tryUpdate } from '#api/testing/try-kind.ts'

const metadata = { name: 'a', resourceVersion: '1' }
const flowSchema = (spec: Partial<V1FlowSchemaSpec> = {}, name = 'a'): V1FlowSchema => ({
  metadata: { ...metadata, name },
  spec: { priorityLevelConfiguration: { name: 'p' }, ...spec },
})
const level = (spec: object, name = 'a'): V1PriorityLevelConfiguration => ({
  metadata: { ...metadata, name },
  spec: spec as V1PriorityLevelConfiguration['spec'],
})

test('flow schemas are validated in the words clients know', () => {
  const user = { kind: 'User', user: { name: 'u' } }
  const resourceRules = [{ verbs: ['get'], apiGroups: ['*'], resources: ['*'], namespaces: ['*'] }]
  const nonResourceRules = (...nonResourceURLs: string[]) => [{ verbs: ['*'], nonResourceURLs }]
  const rule = 'spec.rules[0]'
  const cases: [string, Partial<V1FlowSchemaSpec>, string[]][] = [
    ['a level', {}, []],
    ['a rule', { rules: [{ subjects: [user], resourceRules, nonResourceRules: nonResourceRules('/healthz/*') }] }, []],
    [
      'no level',
      { priorityLevelConfiguration: { name: '' } },
      ['spec.priorityLevelConfiguration.name: Required value: must reference a priority level'],
    ],
    [
      'before everybody',
      { matchingPrecedence: 1 },
      ["spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1"],
    ],
    ['after everybody', { matchingPrecedence: 10_001 }, ['spec.matchingPrecedence: Invalid value: 10001: must not be greater than 10000']],
    [
      'unknown flows',
      { distinguisherMethod: { type: 'Nope' } },
      ['spec.distinguisherMethod.type: Unsupported value: {"Type":"Nope"}: supported values: "ByNamespace", "ByUser"'],
    ],
    [
      'nobody',
      { rules: [{ subjects: [], resourceRules }] },
      [`${rule}.subjects: Required value: subjects must contain at least one value`],
    ],
    [
      'nothing',
      { rules: [{ subjects: [user] }] },
      [`${rule}: Required value: at least one of resourceRules and nonResourceRules has to be non-empty`],
    ],
    [
      'two at once',
      { rules: [{ subjects: [{ ...user, group: { name: 'g' } }], resourceRules }] },
      [`${rule}.subjects[0].group: Forbidden: group is forbidden when subject kind is not 'Group'`],
    ],
    [
      'an unknown verb',
      { rules: [{ subjects: [user], resourceRules: [{ verbs: ['fly'], apiGroups: ['a', '*'], resources: ['*'], clusterScope: true }] }] },
      [
        `${rule}.resourceRules[0].verbs: Unsupported value: ["fly"]: supported values: "create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch"`,
        `${rule}.resourceRules[0].apiGroups: Invalid value: ["a","*"]: if '*' is present, must not specify other api groups`,
      ],
    ],
    [
      'a star in the middle',
      { rules: [{ subjects: [user], nonResourceRules: nonResourceRules('/a*', 'b') }] },
      [
        `${rule}.nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/a*": wildcard can only do suffix matching`,
        `${rule}.nonResourceRules[0].nonResourceURLs[1]: Invalid value: "b": must start with slash`,
      ],
    ],
  ]
  for (const [name, spec, errors] of cases) assert.deepEqual(tryCreate(flowSchemaResource, flowSchema(spec)).errors, errors, name)
})

test('what every server has always says the same', () => {
  for (const [name, spec] of mandatoryFlowSchemas) {
    assert.deepEqual(tryCreate(flowSchemaResource, flowSchema(spec, name)).errors, [])
    const [error = ''] = tryCreate(flowSchemaResource, flowSchema({ ...spec, matchingPrecedence: 2 }, name)).errors
    assert.match(error, new RegExp(`^spec: Invalid value: \\{.*\\}: spec of '${name}' must equal the fixed value$`))
  }
  for (const [name, spec] of mandatoryPriorityLevels)
    assert.deepEqual(tryCreate(priorityLevelConfigurationResource, level(spec, name)).errors, [])
  const lending = level({ type: 'Exempt', exempt: { nominalConcurrencyShares: 5, lendablePercent: 50 } }, 'exempt')
  assert.deepEqual(tryCreate(priorityLevelConfigurationResource, lending).errors, [])
})

test('priority levels are validated in the words clients know', () => {
  const limited = (limitResponse: object, more = {}) => ({ type: 'Limited', limited: { limitResponse, ...more } })
  const queue = (queuing: V1QueuingConfiguration) => limited({ type: 'Queue', queuing })
  const at = 'spec.limited.limitResponse'
  const cases: [string, object, string[]][] = [
    ['refused', limited({ type: 'Reject' }), []],
    ['queued', queue({}), []],
    ['no type', {}, ['spec.type: Required value']],
    ['everything', { type: 'Exempt' }, ["spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'"]],
    ['no limit', { type: 'Limited' }, ['spec.limited: Required value: must not be empty when type is Limited']],
    [
      'queues for the refused',
      limited({ type: 'Reject', queuing: {} }),
      [`${at}.queuing: Forbidden: must be nil if limited.limitResponse.type is not Limited`],
    ],
    [
      'more than all',
      limited({ type: 'Reject' }, { lendablePercent: 101 }),
      ['spec.limited.lendablePercent: Invalid value: 101: must be between 0 and 100, inclusive'],
    ],
    [
      'a large hand',
      queue({ queues: 4, handSize: 5 }),
      [`${at}.queuing.handSize: Invalid value: 5: should not be greater than queues (4)`],
    ],
    [
      'too many hands',
      queue({ queues: 1_000_000, handSize: 10 }),
      [
        `${at}.queuing.handSize: Invalid value: 10: required entropy bits of deckSize 1000000 and handSize 10 should not be greater than 60`,
      ],
    ],
  ]
  for (const [name, spec, errors] of cases)
    assert.deepEqual(tryCreate(priorityLevelConfigurationResource, level(spec)).errors, errors, name)
})

test('a level queues in 64 queues of 50, eight to a hand', () => {
  const { limited } = tryCreate(
    priorityLevelConfigurationResource,
    level({ type: 'Limited', limited: { limitResponse: { type: 'Queue', queuing: {} } } }),
  ).object.spec
  assert.deepEqual(limited, {
    limitResponse: { type: 'Queue', queuing: { handSize: 8, queues: 64, queueLengthLimit: 50 } },
    nominalConcurrencyShares: 30,
    lendablePercent: 0,
  })
})

test('a write to a status leaves the metadata alone', () => {
  const prev = flowSchema()
  const next = {
    ...flowSchema({ matchingPrecedence: 7 }),
    metadata: { ...metadata, labels: { a: 'b' } },
    status: { conditions: [{ type: 'X' }, { type: 'X' }] },
  }
  const { object, errors } = tryUpdate(flowSchemaResource, prev, next, { subresource: 'status' })
  assert.deepEqual([object.metadata.labels, object.spec.matchingPrecedence], [undefined, undefined])
  assert.deepEqual(errors, ['status.conditions[1].type: Duplicate value: "X"'])
})
