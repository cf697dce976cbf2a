import { systemClock } from '#base/clock.ts'
import { errorMessage } from '#base/error-message.ts'
import { nodeFiles } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { thisTerminal } from '#base/terminal.ts'
import { imageArchive } from '#cmd/images/image-archive-of.ts'
import { nodePaths, readNodeRecords } from '#cmd/node/node-directory.ts'
import { textTable } from '#cmd/text-table.ts'
import { containerdDirectory, dockerDirectory, embeddedDirectory } from '#cmd/up/container-runtime.ts'
import { importImages } from '#kubelet/images/import-image.ts'
import { CriClient } from '#kubelet/runtimes/cri/cri-client.ts'
import { privateContainerdSocket } from '#kubelet/runtimes/cri/private-containerd.ts'
import { runtimePaths } from '#runtime/runtime-paths.ts'

type Where = { dataDir: string; criSocket: string }

const usualSockets = ['/run/containerd/containerd.sock', '/run/crio/crio.sock']

export async function loadImages(sources: readonly string[], { name, ...where }: Where & { name: string }): Promise<void> {
  const sockets = await socketsOf(where)
  const say = progressLine()
  for (const source of sources) {
    await using archive = await imageArchive(source, { name, onProgress: (doneBytes) => say(`${source}: read ${sizeText(doneBytes)}`) })
    const loaded = new Set<string>()
    for (const [index, socket] of sockets.entries()) {
      using client = await CriClient.connect(socket)
      const node = sockets.length === 1 ? '' : ` (node ${index + 1} of ${sockets.length})`
      const onProgress = (doneBytes: number, totalBytes: number) =>
        say(`${source}: ${sizeText(doneBytes)} of ${sizeText(totalBytes)}${node}`)
      const names = await importImages(client, archive.path, { files: nodeFiles, clock: systemClock, onProgress }).catch(
        (error: unknown) => {
          throw new Error(`${source}: ${errorMessage(error)}`)
        },
      )
      for (const each of names) loaded.add(each)
    }
    say('')
    for (const each of loaded) thisProcess.print(`Loaded: ${each}`)
  }
}

/** A line that is written over on a terminal; in a pipe nobody wants to see it grow. */
function progressLine(): (text: string) => void {
  if (!thisTerminal.outputIsTerminal) return () => {}
  return (text) => thisTerminal.write(`\r\u001b[K${text}`)
}

export async function listImages(where: Where): Promise<void> {
  // What several nodes have is one line.
  const found = new Map<string, string[]>()
  for (const socket of await socketsOf(where)) {
    using client = await CriClient.connect(socket)
    const { images } = await client.call('listImages', {})
    for (const { id, repoTags, repoDigests, size } of images) {
      const names = repoTags.length > 0 ? repoTags : repoDigests.length > 0 ? repoDigests : ['<none>']
      for (const name of names) found.set(`${name} ${id}`, [name, id.replace(/^sha256:/, '').slice(0, 13), sizeText(size)])
    }
  }
  const rows = [...found.values()]
  thisProcess.print(
    textTable(
      ['IMAGE', 'ID', 'SIZE'],
      rows.sort(([one = ''], [other = '']) => (one < other ? -1 : 1)),
    ),
  )
}

export async function removeImages(names: readonly string[], where: Where): Promise<void> {
  const sockets = await socketsOf(where)
  for (const name of names) {
    let isFound = false
    for (const socket of sockets) {
      using client = await CriClient.connect(socket)
      const { image } = await client.call('imageStatus', { image: { image: name } })
      if (image === undefined) continue
      isFound = true
      await client.call('removeImage', { image: { image: name } })
    }
    if (!isFound) throw new Error(`there is no image ${name}; \`typernetes images ls\` shows those that are there`)
    thisProcess.print(`Removed: ${name}`)
  }
}

/** Those of all nodes of the cluster on this machine, else the machine's own. */
async function socketsOf({ dataDir, criSocket }: Where): Promise<string[]> {
  if (criSocket !== '') return [criSocket]
  const records = await readNodeRecords(dataDir, nodeFiles)
  const directories = [containerdDirectory(dataDir), ...records.map(({ name }) => nodePaths(dataDir, name).containerd)]
  const runtimes = [embeddedDirectory(dataDir), dockerDirectory(dataDir), ...records.map(({ name }) => nodePaths(dataDir, name).runtime)]
  const embedded = runtimes.map((directory) => runtimePaths(directory).socket)
  const isThere = async (socket: string) => (await nodeFiles.stat(socket))?.kind === 'socket'
  const own: string[] = []
  for (const socket of [...embedded, ...directories.map(privateContainerdSocket)]) if (await isThere(socket)) own.push(socket)
  if (own.length > 0) return own
  for (const socket of usualSockets) if (await isThere(socket)) return [socket]
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
