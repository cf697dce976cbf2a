/**
 * Makes one file that holds everything, Node.js too: `node scripts/single-file.ts [FILE]`. It runs on machines of this kind that have nothing
 * but a shell and tar; at its first start it unpacks itself into the user's cache.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'

const repository = join(import.meta.dirname, '..')
const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string }
const target = resolve(process.argv[2] ?? `typernetes-${version}-${process.platform}-${process.arch}`)

function run(command: string, args: readonly string[], cwd: string): void {
  const { status, error } = spawnSync(command, args, { cwd, stdio: ['ignore', 'ignore', 'inherit'] })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${status ?? error?.message}`)
}

/** What comes before the archive. */
function header(name: string): string {
  const lines = [
    '#!/bin/sh',
    `# Typernetes ${version} in one file: unpacks itself once, then runs.`,
    `home="\${XDG_CACHE_HOME:-$HOME/.cache}/typernetes/${name}"`,
    'if [ ! -x "$home/bin/node" ]; then',
    '  mkdir -p "$home.parts" && draft=$(mktemp -d "$home.parts/XXXXXX") || exit 1',
    '  tail -n +12 "$0" | tar xzf - -C "$draft" || { echo "typernetes: $0 could not be unpacked to $draft" >&2; exit 1; }',
    '  [ -d "$home" ] || mv "$draft" "$home"',
    '  rm -rf "$home.parts"',
    'fi',
    'exec "$home/bin/node" "$home/node_modules/typernetes/bin/typernetes.js" "$@"',
    'exit 1',
  ]
  return `${lines.join('\n')}\n`
}

const work = mkdtempSync(join(tmpdir(), 'typernetes-single-'))
try {
  run('npm', ['pack', '--pack-destination', work], repository)
  const packed = readdirSync(work).find((name) => name.endsWith('.tgz')) ?? ''
  const stage = join(work, 'stage')
  mkdirSync(join(stage, 'bin'), { recursive: true })
  writeFileSync(join(stage, 'package.json'), '{"private":true}')
  run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', join(work, packed)], stage)
  copyFileSync(process.execPath, join(stage, 'bin', 'node'))
  run('tar', ['czf', join(work, 'all.tar.gz'), '-C', stage, 'bin', 'node_modules'], work)
  const archive = readFileSync(join(work, 'all.tar.gz'))
  const name = `single-${version}-${createHash('sha256').update(archive).digest('hex').slice(0, 12)}`
  writeFileSync(target, Buffer.concat([Buffer.from(header(name)), archive]))
  chmodSync(target, 0o755)
  console.log(`${target}: ${(archive.length / 1e6).toFixed(0)} MB`)
} finally {
  rmSync(work, { recursive: true, force: true })
}
