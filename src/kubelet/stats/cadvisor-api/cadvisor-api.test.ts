import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { HttpExchange } from '#base/http-server.ts'
import { VirtualClock } from '#base/virtual-clock.ts'
import { cadvisorApi } from '#kubelet/stats/cadvisor-api/cadvisor-api.ts'
import type { GroupUsage, NodeUsage } from '#kubelet/stats/usage.ts'

const clock = new VirtualClock()

/** A node on which one container uses a quarter of a core. */
function usage(): NodeUsage {
  const timeMs = clock.now()
  const usageNanos = timeMs * 250_000
  const memory = { usageBytes: 7000, workingSetBytes: 5000, rssBytes: 1, cacheBytes: 2, swapBytes: 0, pageFaults: 3, majorPageFaults: 4 }
  const group: GroupUsage = { timeMs, cpu: { usageNanos }, memory }
  const fs = { timeMs, capacityBytes: 100, availableBytes: 60, usedBytes: 40, inodes: 10, inodesFree: 9, inodesUsed: 1 }
  const container = {
    ...group,
    name: 'main',
    id: 'containerd://0123456789abcdef',
    image: 'busybox',
    startedMs: 0,
    cgroup: '/kubepods/podx/0123',
  }
  return {
    ...{ whole: group, startedMs: 0, systemContainers: [{ ...group, name: 'kubepods', startedMs: 0 }], interfaces: [], fs },
    pods: [{ name: 'web', namespace: 'default', uid: 'x', startedMs: 0, cgroup: '/kubepods/podx', whole: group, containers: [container] }],
  }
}

const facts = {
  cores: 2,
  memoryBytes: 1 << 30,
  machineId: 'm',
  bootId: 'b',
  systemUuid: 's',
  kernelVersion: '6.1',
  osImage: 'Debian',
  version: 'v1',
}
const handle = cadvisorApi({ source: { collect: async () => usage() }, clock, machine: async () => facts })

// biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
async function ask(target: string): Promise<{ status: number; body: any }> {
  const answered = Promise.withResolvers<{ status: number; body: string }>()
  const respond = (status: number, _: object, body: string) => answered.resolve({ status, body })
  handle({ target, method: 'GET', respond } as unknown as HttpExchange)
  await clock.advance({ seconds: 2 })
  const { status, body } = await answered.promise
  return { status, body: body.startsWith('{') || body.startsWith('[') ? JSON.parse(body) : body }
}

test('v1 shows the machine, its containers and what is below them', async () => {
  assert.equal((await ask('/api/v1.3/machine')).body.num_cores, 2)
  const root = (await ask('/api/v1.3/containers/')).body
  assert.deepEqual([root.name, root.subcontainers], ['/', [{ name: '/kubepods' }]])
  const pod = (await ask('/api/v1.3/containers/kubepods/podx')).body
  assert.equal(pod.stats[0].memory.working_set, 5000)
  const names = (await ask('/api/v1.1/subcontainers/kubepods')).body.map(({ name }: { name: string }) => name)
  assert.deepEqual(names, ['/kubepods', '/kubepods/podx', '/kubepods/podx/0123'])
  assert.deepEqual(Object.keys((await ask('/api/v1.2/docker/0123456789')).body), ['/kubepods/podx/0123'])
})

test('v2 shows attributes, specifications, samples, the latest use and disks', async () => {
  assert.equal((await ask('/api/v2.0/attributes')).body.kernel_version, '6.1')
  assert.equal((await ask('/api/v2.0/spec/kubepods/podx/0123')).body['/kubepods/podx/0123'].image, 'busybox')
  assert.equal((await ask('/api/v2.0/stats/kubepods?recursive=true')).body['/kubepods/podx'][0].memory.usage, 7000)
  assert.ok((await ask('/api/v2.1/stats/k8s_main_web_default_x?type=docker')).body['/kubepods/podx/0123'].stats[0].cpu)
  assert.deepEqual((await ask('/api/v2.0/summary/kubepods')).body['/kubepods'].latest_usage, { cpu: 250, memory: 7000 })
  assert.equal((await ask('/api/v2.0/storage')).body[0].available, 60)
  assert.equal((await ask('/api/v2.1/machinestats')).body.length, 1)
})

test('what is not there is said', async () => {
  assert.deepEqual(await ask('/api/v1.3/containers/nowhere'), { status: 404, body: 'unknown container "/nowhere"\n' })
  assert.equal((await ask('/api/v3.0/machine')).status, 404)
  assert.equal((await ask('/api/v2.0/nothing')).status, 404)
  assert.deepEqual(await ask('/healthz'), { status: 200, body: 'ok' })
  assert.match((await ask('/metrics')).body, /container_memory_working_set_bytes\{/)
})
