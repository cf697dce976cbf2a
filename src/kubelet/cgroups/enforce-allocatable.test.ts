import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CgroupFiles } from '#base/cgroup-files.ts'
import { silentLogger } from '#base/log.ts'
import { enforceAllocatable } from '#kubelet/cgroups/enforce-allocatable.ts'
import { PodCgroups } from '#kubelet/cgroups/pod-cgroups.ts'
import { defaultKubeletConfiguration, type KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'

function recording(version: 1 | 2): { cgroups: CgroupFiles; writes: string[] } {
  const writes: string[] = []
  const cgroups = {
    version,
    make: async () => {},
    write: async (group: string, _controller: string, file: string, value: string) => void writes.push(`${group}/${file}=${value}`),
    read: async (group: string) => (group === '/missing' ? undefined : ''),
  } as unknown as CgroupFiles
  return { cgroups, writes }
}

const enforce = async (version: 1 | 2, given: Partial<KubeletConfiguration>) => {
  const { cgroups, writes } = recording(version)
  const configuration = { ...defaultKubeletConfiguration(), ...given }
  const pods = new PodCgroups({ cgroups, logger: silentLogger })
  await enforceAllocatable({ cgroups, configuration, pods, capacity: { cores: 4, memoryBytes: 4 * 2 ** 30 } })
  return writes
}

const reserved = { systemReserved: { cpu: '500m', memory: '1Gi' }, kubeReserved: { cpu: '500m' } }

test('pods have what is not reserved', async () => {
  assert.deepEqual(await enforce(1, reserved), ['/kubepods/cpu.shares=3072', `/kubepods/memory.limit_in_bytes=${3 * 2 ** 30}`])
  const [, memory] = await enforce(2, reserved)
  assert.equal(memory, `/kubepods/memory.max=${3 * 2 ** 30}`)
  assert.deepEqual(await enforce(1, { ...reserved, enforceNodeAllocatable: [] }), [])
})

test('what is reserved is also the most that the reserved may have, where that is asked for', async () => {
  const given = { ...reserved, enforceNodeAllocatable: ['system-reserved'], systemReservedCgroup: '/system' }
  assert.deepEqual(await enforce(1, given), ['/system/cpu.shares=512', `/system/memory.limit_in_bytes=${2 ** 30}`])
  await assert.rejects(enforce(1, { ...given, systemReservedCgroup: '/missing' }), {
    message: 'failed to enforce system-reserved: cgroup "/missing" does not exist',
  })
})
