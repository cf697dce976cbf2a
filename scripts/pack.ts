/**
 * Makes lib/ for the published package: the sources with their types stripped, since Node does not strip types below node_modules.
 * Beside them the types of what users import. Imports by room (`#api/…`) become relative ones, `.ts` becomes `.js`; nothing else changes, and lines keep their numbers.
 */

import { spawnSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { writeBillOfMaterials } from './sbom.ts'

const wantedNode = 26
const repository = join(import.meta.dirname, '..')

export function packed(source: string, path: string): string {
  return withRelativeImports(stripTypeScriptTypes(source, { mode: 'strip' }), path)
}

function withRelativeImports(source: string, path: string): string {
  return source.replace(/(?<=['"])(#[\w./-]+|\.\.?\/[\w./-]+)(?=['"])/g, (specifier) => {
    const target = specifier.startsWith('#') ? relativeTo(path, specifier.slice(1)) : specifier
    return target.replace(/\.ts$/, '.js')
  })
}

function relativeTo(path: string, target: string): string {
  const found = relative(dirname(path), target)
  return found.startsWith('.') ? found : `./${found}`
}

/** What the package leaves out: tests, and what only they import. */
export function isForTests(path: string): boolean {
  return path.endsWith('.test.ts') || path.split('/').includes('testing')
}

/** The declarations that the public file leads to, and no others. */
function packTypes(to: string): void {
  const made = mkdtempSync(join(tmpdir(), 'declarations-'))
  try {
    const tsc = join(repository, 'node_modules', 'typescript', 'bin', 'tsc')
    const { status } = spawnSync(process.execPath, [tsc, '-p', join(repository, 'scripts', 'tsconfig.types.json'), '--outDir', made], {
      stdio: 'inherit',
    })
    if (status !== 0) process.exit(status ?? 1)
    const waiting = ['index.d.ts']
    const done = new Set(waiting)
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const source = readFileSync(join(made, path), 'utf8')
      mkdirSync(dirname(join(to, path)), { recursive: true })
      writeFileSync(join(to, path), withRelativeImports(source, path))
      for (const [, specifier = ''] of source.matchAll(/(?<=['"])((?:#|\.\.?\/)[\w./-]+)\.ts(?=['"])/g)) {
        const target = specifier.startsWith('#') ? specifier.slice(1) : join(dirname(path), specifier)
        const next = `${target}.d.ts`
        if (done.has(next)) continue
        done.add(next)
        waiting.push(next)
      }
    }
  } finally {
    rmSync(made, { recursive: true, force: true })
  }
}

const entryCheck = `const wanted = ${wantedNode}
if (Number(process.versions.node.split('.')[0]) < wanted) {
  const error = new Error(\`typernetes needs Node.js \${wanted} or newer, and this is \${process.version}; npm install --save-dev node-\${process.platform}-\${process.arch}@\${wanted} gives the scripts of this project one\`)
  // Where it was thrown helps nobody.
  error.stack = error.message
  throw error
}
`

/**
 * What `import` and `require` load: files that any Node can read, which say which Node the others need. An older one would stop at
 * syntax that it does not know before anything is run, hence the import at run time.
 */
async function packEntries(to: string): Promise<void> {
  const names = Object.keys(await import(pathToFileURL(join(to, 'index.js')).href)).sort()
  writeFileSync(
    join(to, 'entry.js'),
    `${entryCheck}const library = await import('./index.js')\nexport const { ${names.join(', ')} } = library\n`,
  )
  writeFileSync(join(to, 'entry.cjs'), `${entryCheck}module.exports = require('./index.js')\n`)
}

if (import.meta.main) {
  const from = join(repository, 'src')
  const to = join(repository, 'lib')
  rmSync(to, { recursive: true, force: true })
  for (const path of globSync('**/*.{ts,json}', { cwd: from })) {
    if (isForTests(path)) continue
    const target = join(to, path.replace(/\.ts$/, '.js'))
    mkdirSync(dirname(target), { recursive: true })
    if (path.endsWith('.json')) cpSync(join(from, path), target)
    else writeFileSync(target, packed(readFileSync(join(from, path), 'utf8'), path))
  }
  packTypes(to)
  writeBillOfMaterials(to)
  await packEntries(to)
  for (const script of ['describe-api.ts', 'describe-commands.ts']) {
    const { status } = spawnSync(process.execPath, [join(repository, 'scripts', script)], { stdio: 'inherit', cwd: repository })
    if (status !== 0) process.exit(status ?? 1)
  }
}
