import { systemClock } from '#base/clock.ts'
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { textTable } from '#cmd/text-table.ts'
import { containerdDirectory } from '#cmd/up/container-runtime.ts'
import { importImages } from '#kubelet/images/import-image.ts'
import { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'
import { privateContainerdSocket } from '#kubelet/runtimes/cri/private-containerd.ts'

type Where = { dataDir: string; criSocket: string }

const usualSockets = ['/run/containerd/containerd.sock', '/run/crio/crio.sock']

export async function loadImages(archives: readonly string[], where: Where): Promise<void> {
  using client = await clientOf(where)
  for (const archive of archives) {
    for (const name of await importImages(client, archive, { files: nodeFiles, clock: systemClock })) thisProcess.print(`Loaded: ${name}`)
  }
}

export async function listImages(where: Where): Promise<void> {
  using client = await clientOf(where)
  const { images } = await client.call('listImages', {})
  const rows = images.flatMap(({ id, repoTags, repoDigests, size }) => {
    const names = repoTags.length > 0 ? repoTags : repoDigests.length > 0 ? repoDigests : ['<none>']
    return names.map((name) => [name, id.replace(/^sha256:/, '').slice(0, 13), sizeText(size)])
  })
  thisProcess.print(
    textTable(
      ['IMAGE', 'ID', 'SIZE'],
      rows.sort(([one = ''], [other = '']) => (one < other ? -1 : 1)),
    ),
  )
}

export async function removeImages(names: readonly string[], where: Where): Promise<void> {
  using client = await clientOf(where)
  for (const name of names) {
    const { image } = await client.call('imageStatus', { image: { image: name } })
    if (image === undefined) throw new Error(`there is no image ${name}; \`typernetes images ls\` shows those that are there`)
    await client.call('removeImage', { image: { image: name } })
    thisProcess.print(`Removed: ${name}`)
  }
}

async function clientOf({ dataDir, criSocket }: Where): Promise<CriClient> {
  if (criSocket !== '') return CriClient.connect(criSocket)
  for (const socket of [privateContainerdSocket(containerdDirectory(dataDir)), ...usualSockets]) {
    if ((await nodeFiles.stat(socket))?.kind === 'socket') return CriClient.connect(socket)
  }
  throw new Error('no container runtime was found; start a cluster with `typernetes up`, or name its socket with --cri-socket')
}

/** As `docker images` writes it: three digits of the largest unit. */
function sizeText(bytes: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  let value = bytes
  let unit = 0
  while (value >= 1000 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${unit === 0 ? value : Number(value.toPrecision(3))}${units[unit]}`
}
