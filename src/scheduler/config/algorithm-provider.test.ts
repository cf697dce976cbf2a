import assert from 'node:assert/strict'
import { test } from 'node:test'
import { providedConfiguration } from '#scheduler/config/algorithm-provider.ts'
import { defaultConfiguration } from '#scheduler/config/configuration.ts'
import { readConfiguration } from '#scheduler/config/read-configuration.ts'

test('the provider for autoscaled clusters fills nodes up, the default one is as without', () => {
  assert.deepEqual(providedConfiguration('DefaultProvider'), defaultConfiguration())
  const [profile] = providedConfiguration('ClusterAutoscalerProvider').profiles
  assert.deepEqual(profile?.pluginConfig, [{ name: 'NodeResourcesFit', args: { scoringStrategy: { type: 'MostAllocated' } } }])
})

test('predicates by their first names are known', async () => {
  const policy = { kind: 'Policy', apiVersion: 'v1', predicates: [{ name: 'PodFitsHost' }, { name: 'PodSelectorMatches' }], priorities: [] }
  const { profiles } = await readConfiguration(JSON.stringify(policy), 'policy.cfg')
  const names = profiles[0]?.plugins?.multiPoint?.enabled?.map(({ name }) => name) ?? []
  for (const name of ['NodeName', 'NodeAffinity']) assert.ok(names.includes(name), names.join())
})
