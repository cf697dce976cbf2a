import { basename } from 'node:path'
import { omitEmpty } from '#base/omit-empty.ts'
import type { DockerResources } from '#runtime/docker/docker-types.ts'
import type { LinuxResources } from '#wire/cri/cri-types.ts'

/** What a container may use, in Docker's words. Docker has none for huge pages and for files of cgroup v2. */
export function dockerResources(resources: LinuxResources = {}): DockerResources {
  const { cpuPeriod = 0, cpuQuota = 0, cpuShares = 0, memoryLimitInBytes = 0, memorySwapLimitInBytes = 0 } = resources
  const { cpusetCpus = '', cpusetMems = '' } = resources
  return {
    ...omitEmpty({ CpusetCpus: cpusetCpus, CpusetMems: cpusetMems }),
    ...(cpuPeriod > 0 && { CpuPeriod: cpuPeriod }),
    ...(cpuQuota !== 0 && { CpuQuota: cpuQuota }),
    ...(cpuShares > 0 && { CpuShares: cpuShares }),
    // Docker would give as much swap again as memory.
    ...(memoryLimitInBytes > 0 && { Memory: memoryLimitInBytes, MemorySwap: memorySwapLimitInBytes || memoryLimitInBytes }),
  }
}

export function linuxResourcesOf(docker: DockerResources & { OomScoreAdj?: number }): LinuxResources {
  const {
    CpuShares = 0,
    CpuPeriod = 0,
    CpuQuota = 0,
    CpusetCpus = '',
    CpusetMems = '',
    Memory = 0,
    MemorySwap = 0,
    OomScoreAdj = 0,
  } = docker
  return {
    ...{ cpuShares: CpuShares, cpuPeriod: CpuPeriod, cpuQuota: CpuQuota, cpusetCpus: CpusetCpus, cpusetMems: CpusetMems },
    ...{ memoryLimitInBytes: Memory, memorySwapLimitInBytes: MemorySwap, oomScoreAdj: OomScoreAdj },
  }
}

/** With systemd's cgroups Docker wants the slice alone, whose name says where it lies. */
export const dockerCgroupParent = (cgroupParent: string, driver: string): string =>
  driver === 'systemd' && cgroupParent !== '' ? basename(cgroupParent) : cgroupParent
