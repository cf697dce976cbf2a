/**
 * Makes lib/ for the published package: the sources with their types stripped, since Node does not strip types below node_modules.
 * Imports by room (`#api/…`) become relative ones, `.ts` becomes `.js`; nothing else changes, and lines keep their numbers.
 */

import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { dirname, join, relative } from 'node:path'

const repository = join(import.meta.dirname, '..')

export function packed(source: string, path: string): string {
  const stripped = stripTypeScriptTypes(source, { mode: 'strip' })
  return stripped.replace(/(?<=['"])(#[\w./-]+|\.\.?\/[\w./-]+)(?=['"])/g, (specifier) => {
    const target = specifier.startsWith('#') ? relativeTo(path, specifier.slice(1)) : specifier
    return target.replace(/\.ts$/, '.js')
  })
}

function relativeTo(path: string, target: string): string {
  const found = relative(dirname(path), target)
  return found.startsWith('.') ? found : `./${found}`
}

if (import.meta.main) {
  const from = join(repository, 'src')
  const to = join(repository, 'lib')
  rmSync(to, { recursive: true, force: true })
  for (const path of globSync('**/*.{ts,json}', { cwd: from })) {
    if (path.endsWith('.test.ts')) continue
    const target = join(to, path.replace(/\.ts$/, '.js'))
    mkdirSync(dirname(target), { recursive: true })
    if (path.endsWith('.json')) cpSync(join(from, path), target)
    else writeFileSync(target, packed(readFileSync(join(from, path), 'utf8'), path))
  }
  const describe = join(repository, 'scripts', 'describe-api.ts')
  if (existsSync(describe)) {
    const { status } = spawnSync(process.execPath, [describe], { stdio: 'inherit', cwd: repository })
    if (status !== 0) process.exit(status ?? 1)
  }
}
