import assert from 'node:assert/strict'
import { test } from 'node:test'
import { configurationFrom, readConfiguration } from '#scheduler/config/read-configuration.ts'
import type { Profile } from '#scheduler/framework/profile.ts'
import { FakeCluster } from '#scheduler/testing/fake-cluster.ts'
import { aNode, aPod } from '#scheduler/testing/objects.ts'

const header = { apiVersion: 'kubescheduler.config.k8s.io/v1', kind: 'KubeSchedulerConfiguration' }

async function profilesFrom(document: object): Promise<ReadonlyMap<string, Profile>> {
  await using cluster = new FakeCluster({ configuration: configurationFrom(document, 'f') })
  return cluster.scheduler.profiles
}
const scorersOf = (profile: Profile | undefined) =>
  Object.fromEntries(profile?.points.score.map(({ plugin, weight }) => [plugin.name, weight]) ?? [])
const filtersOf = (profile: Profile | undefined) => profile?.points.filter.map(({ name }) => name)

test('without a word about plugins all of them take part, in order and by their weights', async () => {
  const profile = (await profilesFrom(header)).get('default-scheduler')
  assert.deepEqual(filtersOf(profile), [
    'NodeUnschedulable',
    'NodeName',
    'TaintToleration',
    'NodeAffinity',
    'NodePorts',
    'NodeResourcesFit',
    'VolumeRestrictions',
    'NodeVolumeLimits',
    'VolumeBinding',
    'VolumeZone',
    'PodTopologySpread',
    'InterPodAffinity',
    'DynamicResources',
    'NodeDeclaredFeatures',
  ])
  assert.deepEqual(scorersOf(profile), {
    TaintToleration: 3,
    NodeAffinity: 2,
    NodeResourcesFit: 1,
    PodTopologySpread: 2,
    InterPodAffinity: 2,
    NodeResourcesBalancedAllocation: 1,
    ImageLocality: 1,
  })
})

test('a plugin whose feature gate is off takes part only where a profile names it', async () => {
  const filters = async (document: object) => {
    await using cluster = new FakeCluster({ configuration: configurationFrom(document, 'f'), featureGates: 'NodeDeclaredFeatures=false' })
    return filtersOf(cluster.scheduler.profiles.get('default-scheduler')) ?? []
  }
  assert.ok(!(await filters(header)).includes('NodeDeclaredFeatures'))
  const profiles = [{ plugins: { multiPoint: { enabled: [{ name: 'NodeDeclaredFeatures' }] } } }]
  assert.ok((await filters({ ...header, profiles })).includes('NodeDeclaredFeatures'))
})

test('a profile switches plugins off, and weighs them anew', async () => {
  const profiles = [
    { schedulerName: 'one', plugins: { score: { disabled: [{ name: '*' }], enabled: [{ name: 'ImageLocality', weight: 7 }] } } },
    { schedulerName: 'two', plugins: { multiPoint: { disabled: [{ name: 'NodePorts' }] } } },
  ]
  const made = await profilesFrom({ ...header, profiles })
  assert.deepEqual(scorersOf(made.get('one')), { ImageLocality: 7 })
  assert.equal(filtersOf(made.get('two'))?.includes('NodePorts'), false)
})

test('YAML is read, and the rest keeps its defaults', async () => {
  const configuration = await readConfiguration(
    'apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nleaderElection: {leaderElect: false}\npodMaxBackoffSeconds: 20\n',
    'f',
  )
  assert.equal(configuration.leaderElection.leaderElect, false)
  assert.equal(configuration.leaderElection.leaseDuration, '15s')
  assert.deepEqual([configuration.podInitialBackoffSeconds, configuration.podMaxBackoffSeconds], [1, 20])
})

const mistakes: [string, object, RegExp][] = [
  ['another kind', { ...header, kind: 'Pod' }, /expected KubeSchedulerConfiguration/],
  ['a typo', { ...header, profile: [] }, /unknown field "profile"/],
  ['a typo deep inside', { ...header, profiles: [{ plugins: { filters: {} } }] }, /unknown field "profiles\[0\]\.plugins\.filters"/],
  ['a percentage over 100', { ...header, percentageOfNodesToScore: 101 }, /not in valid range \[0-100\]/],
  ['a backoff that shrinks', { ...header, podInitialBackoffSeconds: 30 }, /podMaxBackoffSeconds/],
  ['one name twice', { ...header, profiles: [{ schedulerName: 'a' }, { schedulerName: 'a' }] }, /duplicate value "a"/],
  [
    'two extenders that bind',
    {
      ...header,
      extenders: [
        { urlPrefix: 'a', bindVerb: 'b' },
        { urlPrefix: 'c', bindVerb: 'd' },
      ],
    },
    /multiple extenders implementing bind/,
  ],
]
for (const [name, document, message] of mistakes) {
  test(`${name} is refused`, () => assert.throws(() => configurationFrom(document, 'f'), message))
}

test('a plugin nobody knows is refused, and so is one in the wrong place', async () => {
  const enabling = (point: string, name: string) => ({ ...header, profiles: [{ plugins: { [point]: { enabled: [{ name }] } } }] })
  await assert.rejects(profilesFrom(enabling('filter', 'Nobody')), /plugin "Nobody" does not exist/)
  await assert.rejects(profilesFrom(enabling('score', 'NodePorts')), /plugin "NodePorts" does not extend score plugin/)
})

test('a policy of old becomes plugins that do the same', async () => {
  const policy = {
    kind: 'Policy',
    apiVersion: 'v1',
    predicates: [
      { name: 'PodFitsResources' },
      { name: 'NoDiskConflict' },
      { name: 'Zoned', argument: { labelsPresence: { labels: ['zone'], presence: true } } },
    ],
    priorities: [
      { name: 'LeastRequestedPriority', weight: 2 },
      { name: 'EqualPriority', weight: 1 },
      { name: 'Fast', weight: 4, argument: { labelPreference: { label: 'ssd', presence: true } } },
    ],
    extenders: [{ urlPrefix: 'http://e', filterVerb: 'f', httpTimeout: 100_000_000 }],
  }
  const configuration = configurationFrom(policy, 'f')
  assert.equal(configuration.extenders[0]?.httpTimeout, '100ms')
  await using cluster = new FakeCluster({ configuration: { ...configuration, extenders: [] } })
  const profile = cluster.scheduler.profiles.get('default-scheduler')
  assert.deepEqual(filtersOf(profile)?.toSorted(), [
    'DynamicResources',
    'NodeAffinity',
    'NodeResourcesFit',
    'NodeUnschedulable',
    'TaintToleration',
    'VolumeRestrictions',
  ])
  assert.deepEqual(scorersOf(profile), { NodeResourcesFit: 2, NodeAffinity: 1 })

  cluster.put(
    'Node',
    aNode('nowhere', { cpu: '64' }),
    aNode('slow', { labels: { zone: 'x' } }),
    aNode('fast', { labels: { zone: 'x', ssd: '' } }),
  )
  cluster.put('Pod', aPod('p', { cpu: '1' }))
  await cluster.settle()
  assert.deepEqual(cluster.placements(), { p: 'fast' })
})

test('a policy that asks for what nobody does is refused', () => {
  assert.throws(() => configurationFrom({ kind: 'Policy', predicates: [{ name: 'S' }] }, 'f'), /predicate "S" is not known/)
})

test('service affinity of a policy keeps the pods of a service where the first one is', async () => {
  const policy = { kind: 'Policy', predicates: [{ name: 'S', argument: { serviceAffinity: { labels: ['region'] } } }], priorities: [] }
  await using cluster = new FakeCluster({ configuration: configurationFrom(policy, 'f') })
  cluster.put('Service', { metadata: { name: 's', namespace: 'default' }, spec: { selector: { app: 'web' } } })
  cluster.put('Node', aNode('e1', { labels: { region: 'east' } }), aNode('w1', { labels: { region: 'west' } }))
  cluster.put('Node', aNode('e2', { labels: { region: 'east' } }), aNode('n1'))
  cluster.put('Pod', aPod('first', { labels: { app: 'web' }, on: 'e1' }))
  for (let index = 0; index < 8; index++) cluster.put('Pod', aPod(`p${index}`, { labels: { app: 'web' } }))
  await cluster.settle()
  assert.deepEqual(new Set(Object.values(cluster.placements())), new Set(['e1', 'e2']))
})
