import { type Architecture, pauseProgram } from '#kubelet/images/pause-program.ts'
import { writeImageArchive } from '#wire/oci/image-archive.ts'

/** What sandboxes are made of; nothing has to be fetched for it. */
export const sandboxImageName = 'registry.typernetes.dev/pause:1'

export function sandboxImageArchive(architecture: Architecture, name = sandboxImageName): Uint8Array {
  return writeImageArchive([
    {
      name,
      architecture,
      layers: [[{ path: 'pause', content: pauseProgram(architecture), mode: 0o755 }]],
      config: { Entrypoint: ['/pause'], User: '65535:65535', WorkingDir: '/' },
    },
  ])
}
