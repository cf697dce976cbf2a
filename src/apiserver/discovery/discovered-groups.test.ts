import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GroupEntry } from '#api/scheme.ts'
import { DiscoveredGroups, mergedGroups, type RemoteVersion } from '#apiserver/discovery/discovered-groups.ts'

const local = (group: string, ...versions: string[]) =>
  ({ group, versions: versions.map((version) => ({ version, definitions: [] })) }) as unknown as GroupEntry
const remote = (group: string, version: string, groupPriority: number, versionPriority = 10): RemoteVersion => ({
  group,
  version,
  groupPriority,
  versionPriority,
  resources: [],
  isCurrent: true,
})
const shown = (groups: readonly { group: string; versions: readonly { version: string }[] }[]) =>
  groups.map(({ group, versions }) => `${group}: ${versions.map(({ version }) => version).join(' ')}`)

test('without others, the groups are those of this server, the very same', () => {
  const groups = [local('apps', 'v1'), local('batch', 'v1')]
  assert.equal(mergedGroups(groups, []), groups)
})

test('groups of others are where their priority puts them', () => {
  const groups = [local('apps', 'v1'), local('batch', 'v1'), local('custom.example.com', 'v1')]
  const merged = mergedGroups(groups, [remote('low', 'v1', 100), remote('high', 'v1', 17_500), remote('other', 'v1', 1000)])
  assert.deepEqual(shown(merged), ['apps: v1', 'high: v1', 'batch: v1', 'custom.example.com: v1', 'other: v1', 'low: v1'])
  assert.equal(merged[0], groups[0], 'what nothing is added to stays the same value')
})

test('versions of a group may come from several servers, the preferred one first', () => {
  const merged = mergedGroups(
    [local('apps', 'v1')],
    [remote('apps', 'v2', 10, 20), remote('apps', 'v3alpha1', 10, 1), remote('apps', 'v3beta1', 10, 1)],
  )
  assert.deepEqual(shown(merged), ['apps: v2 v1 v3beta1 v3alpha1'])
})

test('a version that somebody else was given is not this server’s any more', () => {
  const [group] = mergedGroups([local('apps', 'v1')], [remote('apps', 'v1', 10, 20)])
  assert.equal(group?.versions.length, 1)
  assert.equal(group?.versions[0]?.remote?.groupPriority, 10)
})

test('what is remembered is forgotten when either side changes', () => {
  const own = { revision: 1, groups: [local('apps', 'v1')] }
  const others = { revision: 1, versions: () => [remote('a', 'v1', 100)] }
  const groups = new DiscoveredGroups(own, others)
  const before = groups.groups
  assert.equal(groups.groups, before)
  others.revision++
  assert.notEqual(groups.groups, before)
  assert.equal(groups.group('a')?.group, 'a')
  assert.equal(groups.group('b'), undefined)
})
