import { join } from 'node:path'
import { errorMessage } from '#base/error-message.ts'
import type { Files } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'

/** Makes the data directory where it is missing. Throws one clear sentence where it cannot be written to. */
export async function prepareDataDirectory(files: Files, dataDir: string): Promise<void> {
  const probe = join(dataDir, `.writable-${thisProcess.pid}`)
  try {
    await files.makeDirectory(dataDir)
    // Rights do not tell all: a read-only file system, a full disk, /proc.
    await files.append(probe, '')
    await files.remove(probe)
  } catch (error) {
    const why = errorMessage(error)
    throw new Error(`--data-dir: cannot write to ${dataDir} (${why}); choose another directory`, { cause: error })
  }
}
