import assert from 'node:assert/strict'
import { test } from 'node:test'
import { findCgroups } from '#base/cgroup-files.ts'
import { Cgroup2Tree } from '#base/testing/cgroup2-tree.ts'

test('with cgroup v2 a new group has every controller, handed on from the top', async () => {
  using tree = new Cgroup2Tree()
  const cgroups = await findCgroups(tree.files)
  assert.equal(cgroups?.version, 2)
  await cgroups.make('/kubepods/burstable/pod1')
  assert.equal(tree.read('kubepods/burstable/pod1', 'cgroup.controllers'), 'cpu memory pids cpuset')
  await cgroups.write('/kubepods/burstable/pod1', 'memory', 'memory.max', '1000')
  assert.equal(await cgroups.read('kubepods/burstable/pod1', 'memory', 'memory.max'), '1000')
  assert.deepEqual(await cgroups.children('kubepods'), ['burstable'])
  await assert.rejects(cgroups.write('kubepods', 'cpu', 'cpu.weight', '0'), /EINVAL/)
})

test('a group with processes stays, and what is gone is gone', async () => {
  using tree = new Cgroup2Tree()
  const cgroups = await findCgroups(tree.files)
  await cgroups?.make('a/b')
  await cgroups?.make('a/c')
  tree.set('a/b', 'cgroup.procs', '42')
  assert.equal(await cgroups?.remove('a'), false)
  assert.deepEqual(await cgroups?.children('a'), ['b'])
  tree.set('a/b', 'cgroup.procs', '')
  assert.equal(await cgroups?.remove('a'), true)
  assert.equal(await cgroups?.remove('a'), true)
})
