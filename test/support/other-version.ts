/** The program as if it were of another version of Kubernetes: a copy of the package that says so of itself. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const repository = join(import.meta.dirname, '..', '..')

export type OtherVersion = Disposable & {
  readonly program: string
  /** What it is to be started with: its compiled code is nobody else's. */
  readonly environment: readonly string[]
}

export function layOtherVersion(version: string): OtherVersion {
  const directory = mkdtempSync(join(tmpdir(), 'tn-version-'))
  for (const part of ['bin', 'src', 'package.json']) cpSync(join(repository, part), join(directory, part), { recursive: true })
  symlinkSync(join(repository, 'node_modules'), join(directory, 'node_modules'))
  const path = join(directory, 'src', 'cmd', 'version.ts')
  const text = readFileSync(path, 'utf8')
  const changed = text.replace(/kubernetesVersion = '[^']*'/, `kubernetesVersion = '${version}'`)
  if (changed === text) throw new Error(`${path} names no version of Kubernetes`)
  writeFileSync(path, changed)
  return {
    program: join(directory, 'bin', 'typernetes.js'),
    environment: ['env', `NODE_COMPILE_CACHE=${join(directory, 'cache', 'compiled')}`],
    [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true, maxRetries: 20 }),
  }
}
