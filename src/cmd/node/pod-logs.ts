/** Where the logs of a node's pods lie: in its own directory, or where collectors of logs look for them (/var/log/pods). */
import { dirname, join } from 'node:path'
import type { Files } from '#base/files.ts'
import { nodePaths, readNodeRecords } from '#cmd/node/node-directory.ts'
import { uidOfLogs } from '#kubelet/runtime-helper/orphaned-pods.ts'

/** `directory` is the node's own. A link in it leads to logs that lie elsewhere, so that they are found when the node goes. */
export async function podLogsDirectory(directory: string, elsewhere: string, files: Files): Promise<string> {
  const own = join(directory, 'logs', 'pods')
  const present = await files.stat(own)
  if (present?.kind === 'symlink') await files.removeOne(own)
  if (elsewhere === '') return own
  // Logs of before are no longer read from there.
  if (present?.kind === 'directory') await files.remove(own)
  await files.makeDirectory(elsewhere, { mode: 0o755 })
  await files.makeDirectory(dirname(own))
  await files.symlink(elsewhere, own)
  return elsewhere
}

/** Of a node that goes, logs that lie elsewhere go too: those of its own pods, since others may write there as well. */
export async function removePodLogs(directory: string, files: Files): Promise<void> {
  const place = join(directory, 'logs', 'pods')
  const elsewhere = (await files.stat(place))?.kind === 'symlink' ? await files.readLink(place) : undefined
  if (elsewhere === undefined) return
  const own = new Set(await files.list(join(directory, 'kubelet', 'pods')))
  const links = join(dirname(elsewhere), 'containers')
  const gone = (await files.list(elsewhere)).filter((name) => own.has(uidOfLogs(name) ?? ''))
  for (const link of await files.list(links)) {
    const isLink = (await files.stat(join(links, link)))?.kind === 'symlink'
    const target = isLink ? await files.readLink(join(links, link)) : undefined
    if (target !== undefined && gone.some((name) => target.startsWith(`${join(elsewhere, name)}/`)))
      await files.removeOne(join(links, link))
  }
  for (const name of gone) await files.remove(join(elsewhere, name))
}

/** Of all nodes of a cluster, the machine itself among them. */
export async function removeAllPodLogs(dataDir: string, files: Files): Promise<void> {
  const records = await readNodeRecords(dataDir, files)
  for (const directory of [dataDir, ...records.map(({ name }) => nodePaths(dataDir, name).directory)]) await removePodLogs(directory, files)
}
