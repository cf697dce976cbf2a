import type { Processes } from '#base/processes.ts'
import type { ImageMounter } from '#kubelet/runtime-helper/image-volumes.ts'

/** Of containerd, from this version on; other runtimes that know CRI's field have had it as long. */
const nativeSince = [2, 1] as const

/** Through containerd's own program where the runtime is too old to mount images into containers. */
export function imageMounter({ version, socket, processes }: { version: string; socket: string; processes: Processes }): ImageMounter {
  const [, runtime = '', major = '0', minor = '0'] = /^([\w-]+):\/\/v?(\d+)\.(\d+)/.exec(version) ?? []
  const isOld = Number(major) < nativeSince[0] || (Number(major) === nativeSince[0] && Number(minor) < nativeSince[1])
  return {
    isNative: runtime !== 'containerd' || !isOld,
    async mount(image, imageRef, target) {
      const address = socket.replace(/^unix:\/\//, '')
      const name = imageRef.startsWith('sha256:') ? imageRef : image
      const { exitCode, stderr } = await processes.run('ctr', [
        '--address',
        address,
        '--namespace',
        'k8s.io',
        'images',
        'mount',
        name,
        target,
      ])
      if (exitCode !== 0) throw new Error(`image volume: ctr images mount ${name} failed: ${stderr.trim()}`)
    },
  }
}
