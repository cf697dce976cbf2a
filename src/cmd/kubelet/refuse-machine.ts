import type { KernelFiles } from '#base/kernel-files.ts'
import type { KubeletConfiguration } from '#kubelet/configuration/kubelet-configuration.ts'

type Wanted = Pick<KubeletConfiguration, 'failSwapOn' | 'failCgroupV1' | 'protectKernelDefaults'>

export type MachineAsFound = { swapBytes: number; cgroupVersion: 1 | 2 | undefined; kernel: Pick<KernelFiles, 'read'> }

/** As upstream's kubelet wants the kernel to be. */
const kernelSettings: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
}

/** Throws where the machine is one that the configuration does not take. */
export function refuseMachine({ failSwapOn, failCgroupV1, protectKernelDefaults }: Wanted, machine: MachineAsFound): void {
  const { swapBytes, cgroupVersion, kernel } = machine
  if (failSwapOn && swapBytes > 0) {
    throw new Error('running with swap on is not supported, please disable swap or set --fail-swap-on flag to false')
  }
  if (failCgroupV1 && cgroupVersion === 1) {
    throw new Error(
      'kubelet is configured to not run on a host using cgroup v1. cgroup v1 support is unsupported and will be removed in a future release',
    )
  }
  if (!protectKernelDefaults) return
  const wrong = Object.entries(kernelSettings).flatMap(([name, expected]) => {
    const actual = kernel.read(`/proc/sys/${name}`)?.trim()
    const what = `invalid kernel flag: ${name}, expected value: ${expected}`
    return actual === expected ? [] : [actual === undefined ? `${what}, which cannot be read` : `${what}, actual value: ${actual}`]
  })
  if (wrong.length > 0) throw new Error(wrong.length === 1 ? wrong[0] : `[${wrong.join(', ')}]`)
}
