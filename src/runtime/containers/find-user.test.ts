import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findUser } from '#runtime/containers/find-user.ts'

const lists = {
  passwd: 'root:x:0:0:root:/root:/bin/sh\ntester:x:1000:1001::/home:/bin/sh\n',
  group: 'root:x:0:\nstaff:x:50:tester\nextra:x:2000:tester,other\n',
}
const find = (user: string, more: { gid?: number; groups?: number[]; mergesGroups?: boolean } = {}) =>
  findUser({ user, groups: [], mergesGroups: true, ...more }, lists)

test('users are found by name and by number, and their groups with them', () => {
  assert.deepEqual(find(''), { uid: 0, gid: 0, groups: [0], home: '/root' })
  assert.deepEqual(find('tester'), { uid: 1000, gid: 1001, groups: [1001, 50, 2000], home: '/home' })
  assert.deepEqual(find('1000'), find('tester'))
  assert.deepEqual(find('4242').groups, [0])
  assert.deepEqual(find('tester', { groups: [77] }).groups, [1001, 50, 2000, 77], "the image's first")
})

test('a group that is asked for counts before the list’s, by name as well', () => {
  assert.equal(find('tester:staff').gid, 50)
  assert.equal(find('tester:7').gid, 7)
  assert.deepEqual(find('tester', { gid: 9, groups: [77], mergesGroups: false }).groups, [9, 77])
})

test('names that the image does not know are refused', () => {
  assert.throws(() => find('nobody-here'), /no matching entries in passwd file/)
  assert.throws(() => find('tester:nobody-here'), /no matching entries in group file/)
})
