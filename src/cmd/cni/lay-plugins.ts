/** Our network plugins as programs in a directory, for container runtimes to call. */
import { join } from 'node:path'
import type { Files } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'
import { plugins } from '#network/cni/chain.ts'

/** Runs the whole chain of a pod in one process. */
const chainPlugin = 'typernetes'

const extension = import.meta.filename.endsWith('.ts') ? 'ts' : 'js'
const main = join(import.meta.dirname, `main.${extension}`)

export async function layPlugins(directory: string, files: Files): Promise<void> {
  await files.makeDirectory(directory, { mode: 0o755 })
  for (const type of [chainPlugin, ...Object.keys(plugins)]) {
    const path = join(directory, type)
    const text = script(type)
    if ((await files.readTextIfPresent(path)) !== text) await files.write(path, text, { mode: 0o755 })
  }
}

function script(type: string): string {
  const cache = thisProcess.environment['NODE_COMPILE_CACHE']
  const keeping = cache === undefined ? '' : `export NODE_COMPILE_CACHE=${quoted(cache)}\n`
  return `#!/bin/sh\n${keeping}exec ${quoted(thisProcess.executable)} ${quoted(main)} ${quoted(type)}\n`
}

/** For a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
