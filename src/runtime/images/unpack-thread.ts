/** A thread that unpacks layers, one after the other. */
import { createHash } from 'node:crypto'
import { errorMessage } from '#base/error-message.ts'
import { TreeWriter } from '#base/tree-writer.ts'
import { unpackedBytes } from '#base/unpacked-bytes.ts'
import { threadSide } from '#base/worker.ts'
import { LayerTree } from '#runtime/images/layer-tree.ts'
import { TarReader } from '#wire/tar-reader.ts'

export type UnpackOrder = {
  id: number
  /** Where the layer lies in which file. */
  path: string
  start: number
  sizeBytes: number
  directory: string
  isRootless: boolean
  keepsOwners: boolean
}

export type UnpackReport = { id: number; diffId: string; sizeBytes: number } | { id: number; error: string }

const side = threadSide<UnpackOrder, UnpackReport>()
let last: Promise<void> = Promise.resolve()

side.onMessage((order) => {
  last = last.then(async () => {
    try {
      side.post({ id: order.id, ...(await unpack(order)) })
    } catch (error) {
      side.post({ id: order.id, error: errorMessage(error) })
    }
  })
})

async function unpack({
  path,
  start,
  sizeBytes,
  directory,
  isRootless,
  keepsOwners,
}: UnpackOrder): Promise<{ diffId: string; sizeBytes: number }> {
  const tree = new LayerTree(new TreeWriter(directory, { keepsOwners }), { hasUserAttributes: isRootless })
  const reader = new TarReader(tree)
  const hash = createHash('sha256')
  for await (const bytes of unpackedBytes(path, start, sizeBytes)) {
    hash.update(bytes)
    reader.push(bytes)
  }
  reader.end()
  tree.finish()
  return { diffId: `sha256:${hash.digest('hex')}`, sizeBytes: tree.sizeBytes }
}
