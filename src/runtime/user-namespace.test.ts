import assert from 'node:assert/strict'
import { test } from 'node:test'
import { areSameUsers, hostIdOf, podUsersOf } from '#runtime/user-namespace.ts'
import { type NamespaceOption, namespaceModes } from '#wire/cri/cri-types.ts'

const mapping = [{ hostId: 65_536, containerId: 0, length: 65_536 }]
const usernsOptions = { mode: namespaceModes.pod, uids: mapping, gids: mapping }
const configOf = (namespaceOptions: NamespaceOption) => ({
  metadata: { name: 'p', namespace: 'd', uid: 'u', attempt: 0 },
  linux: { securityContext: { namespaceOptions } },
})

test('a pod has the users that it asks for, else those of the node', () => {
  assert.deepEqual(podUsersOf(configOf({ usernsOptions })), { uids: mapping, gids: mapping })
  assert.equal(podUsersOf(configOf({})), undefined)
  assert.equal(podUsersOf(configOf({ usernsOptions: { mode: namespaceModes.node } })), undefined)
})

test('users that cannot be given are refused', () => {
  const refused = (options: NamespaceOption, why: RegExp) => assert.throws(() => podUsersOf(configOf(options)), why)
  refused({ usernsOptions: { mode: namespaceModes.container, uids: mapping, gids: mapping } }, /unsupported user namespace mode 1/)
  refused({ usernsOptions: { mode: namespaceModes.pod, uids: mapping } }, /needs mappings/)
  refused({ usernsOptions: { ...usernsOptions, uids: [{ hostId: 65_536, containerId: 1, length: 10 }] } }, /must have a root/)
  for (const kind of ['network', 'ipc', 'pid'] as const) {
    refused({ usernsOptions, [kind]: namespaceModes.node }, new RegExp(`cannot share the ${kind} namespace of the node`))
  }
})

test('a number in the pod is another on the node, or none', () => {
  const two = [...mapping, { hostId: 5, containerId: 70_000, length: 1 }]
  assert.deepEqual(
    [0, 1000, 65_535, 65_536, 70_000].map((id) => hostIdOf(two, id)),
    [65_536, 66_536, 131_071, undefined, 5],
  )
})

test('mappings are the same where all their ranges are', () => {
  const users = { uids: mapping, gids: mapping }
  assert.ok(areSameUsers(users, structuredClone(users)))
  assert.ok(!areSameUsers(users, { ...users, gids: [{ hostId: 0, containerId: 0, length: 1 }] }))
})
