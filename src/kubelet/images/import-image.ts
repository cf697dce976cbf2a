/** Brings images from files into containerd. */
import { join } from 'node:path'
import type { Files } from '#base/files.ts'
import type { Processes } from '#base/processes.ts'
import type { Architecture } from '#kubelet/images/pause-program.ts'
import { sandboxImageArchive, sandboxImageName } from '#kubelet/images/sandbox-image.ts'
import type { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'
import { kubernetesNamespace } from '#wire/containerd-messages.ts'

export type ImportSeams = { files: Files; processes: Processes }

/** Resolves with the names of the images that came in. */
export async function importImages(socket: string, archiveFile: string, { processes }: ImportSeams): Promise<string[]> {
  const args = ['--address', socket, '--namespace', kubernetesNamespace, 'images', 'import', archiveFile]
  const { exitCode, stdout, stderr } = await processes.run('ctr', args)
  if (exitCode !== 0) throw new Error(`containerd did not take the images of ${archiveFile}: ${stderr.trim() || stdout.trim()}`)
  return [...stdout.matchAll(/^unpacking (\S+)/gm)].map(([, name = '']) => name)
}

/** Makes the image of sandboxes known to the runtime, where it is not. */
export async function ensureSandboxImage(client: CriClient, socket: string, architecture: Architecture, seams: ImportSeams): Promise<void> {
  const { image } = await client.call('imageStatus', { image: { image: sandboxImageName } })
  if (image !== undefined) return
  const directory = await seams.files.temporaryDirectory('typernetes-pause-')
  try {
    const file = join(directory, 'pause.tar')
    await seams.files.write(file, sandboxImageArchive(architecture))
    await importImages(socket, file, seams)
  } finally {
    await seams.files.remove(directory)
  }
}
