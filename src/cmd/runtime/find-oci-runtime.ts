import { delimiter, isAbsolute, join } from 'node:path'
import type { Files } from '#base/files.ts'
import { thisProcess } from '#base/machine.ts'

/** The path of a program given by name or path; undefined where none is asked for. Throws where it is not there. */
export async function findOciRuntime(program: string, files: Files): Promise<string | undefined> {
  if (program === '') return undefined
  const directories = [...(thisProcess.environment['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin']
  const places = isAbsolute(program) ? [program] : directories.map((directory) => join(directory, program))
  for (const place of places) {
    if ((await files.statTarget(place).catch(() => undefined))?.kind === 'file') return place
  }
  throw new Error(`--oci-runtime: there is no program ${program}; on Debian: apt install runc, or crun`)
}
