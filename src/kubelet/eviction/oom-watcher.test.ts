import assert from 'node:assert/strict'
import { test } from 'node:test'
import { VirtualClock } from '#base/virtual-clock.ts'
import { OomWatcher, oomKillIn } from '#kubelet/eviction/oom-watcher.ts'

const machineWide =
  'oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0,global_oom,task_memcg=/,task=stress,pid=4231,uid=0'
const ofGroup =
  'oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=a,mems_allowed=0,oom_memcg=/kubepods/podx,task_memcg=/kubepods/podx/c,task=sh,pid=7,uid=0'

test('the kernel names the process it has killed', () => {
  assert.deepEqual(oomKillIn(machineWide), { process: 'stress', pid: 4231, victimGroup: '/', isMachineWide: true })
  assert.deepEqual(oomKillIn(ofGroup), { process: 'sh', pid: 7, victimGroup: '/kubepods/podx/c', isMachineWide: false })
  assert.equal(oomKillIn('eth0: link is up'), undefined)
})

test('only what ran out for the whole machine is an event of the node', async () => {
  const clock = new VirtualClock()
  const warnings: string[] = []
  const messages = [['eth0: link is up', ofGroup, machineWide], []]
  using _watcher = new OomWatcher({
    log: { read: () => messages.shift() ?? [], [Symbol.dispose]: () => {} },
    clock,
    warn: (reason, message) => void warnings.push(`${reason}: ${message}`),
  })
  await clock.advance({ seconds: 25 })
  assert.deepEqual(warnings, ['SystemOOM: System OOM encountered, victim process: stress, pid: 4231'])
})
