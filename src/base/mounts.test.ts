import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mountOf } from '#base/mounts.ts'

const mountInfo = `22 1 254:0 / / rw,relatime - ext4 /dev/root rw
30 22 0:21 / /proc rw,relatime shared:5 - proc proc rw
31 22 0:30 / /var/lib/a\\040b rw shared:7 master:2 - tmpfs tmpfs rw
32 31 0:31 / /var/lib/a\\040b rw master:3 - tmpfs tmpfs rw
`

test('the mount that a path lies in is the deepest one, and of several at a place the last', () => {
  assert.deepEqual(mountOf('/var/lib/kubelet', mountInfo), { place: '/', isShared: false })
  assert.deepEqual(mountOf('/proc/1', mountInfo), { place: '/proc', isShared: true })
  assert.deepEqual(mountOf('/processes', mountInfo), { place: '/', isShared: false })
  assert.deepEqual(mountOf('/var/lib/a b/c', mountInfo), { place: '/var/lib/a b', isShared: false })
})
