import { join } from 'node:path'
import { thisProcess } from '#base/machine.ts'

const extension = import.meta.filename.endsWith('.ts') ? 'ts' : 'js'

/** What starts the forwarder, but for the path of its settings. */
export const forwarderProgram = (): string[] => [
  thisProcess.executable,
  '--disable-warning=ExperimentalWarning',
  join(import.meta.dirname, `main.${extension}`),
]
