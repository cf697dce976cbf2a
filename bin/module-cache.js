// Keeps the program's modules, stripped of their types, in one file. Otherwise a thousand small files are looked for, read and
// stripped at every start, which takes longer than everything else together. Runs in each thread that imports it.
import { mkdirSync, openSync, readFileSync, readSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { registerHooks, stripTypeScriptTypes } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isMainThread } from 'node:worker_threads'

// That it strips types is what this program was started for: nobody needs to be warned of it.
const { emitWarning } = process
process.emitWarning = (warning, ...rest) => {
  if (!String(warning).includes('stripTypeScriptTypes')) emitWarning.call(process, warning, ...rest)
}

const rootUrl = new URL('..', import.meta.url).href
const rooms = [`${rootUrl}src/`, `${rootUrl}lib/`]
// Threads need a few modules only: they have a file of their own.
const name = `${isMainThread ? 'modules' : 'thread-modules'}-${process.versions.node}${rootUrl.replaceAll(/[^A-Za-z0-9]+/g, '-')}`
const path = process.env.NODE_COMPILE_CACHE && join(dirname(process.env.NODE_COMPILE_CACHE), name.slice(0, 200))

/** By URL: where its text begins in the kept bytes, how long it is, of which time and size its file was, and whether it is all ASCII. */
let kept = {}
/** Read piece by piece: all of it together would stay in memory. */
let file
let base = 0
/** What was not kept, or has changed since. */
const fresh = new Map()

try {
  file = openSync(path)
  const head = Buffer.alloc(4)
  readSync(file, head, 0, 4, 0)
  base = 4 + head.readUInt32LE(0)
  kept = JSON.parse(part(4, base - 4).latin1Slice())
} catch {
  // There is none yet, or none that can be read: everything is fresh.
}

/** Undefined where the file is cut short. */
function part(position, length) {
  const bytes = Buffer.allocUnsafe(length)
  return readSync(file, bytes, 0, length, position) === length ? bytes : undefined
}

function sourceOf(url) {
  const sourcePath = fileURLToPath(url)
  const { mtimeMs, size } = statSync(sourcePath)
  const [start, length, keptMs, keptSize, isAscii] = kept[url] ?? []
  const bytes = keptMs === mtimeMs && keptSize === size ? part(base + start, length) : undefined
  if (bytes !== undefined) return isAscii ? bytes.latin1Slice() : bytes.utf8Slice()
  const text = readFileSync(sourcePath, 'utf8')
  const source = url.endsWith('.ts') ? stripTypeScriptTypes(text) : text
  fresh.set(url, { source, mtimeMs, size })
  return source
}

function ownUrl(specifier, parentUrl) {
  if (specifier.startsWith('#')) return `${rooms[0]}${specifier.slice(1)}`
  return specifier.startsWith('.') && isOwn(parentUrl) ? new URL(specifier, parentUrl).href : specifier
}

function isOwn(url) {
  return url !== undefined && rooms.some((room) => url.startsWith(room))
}

function isKeepable(url) {
  return isOwn(url) && (url.endsWith('.ts') || url.endsWith('.js'))
}

registerHooks({
  resolve(specifier, context, next) {
    const url = ownUrl(specifier, context.parentURL)
    return isKeepable(url) ? { url, format: 'module', shortCircuit: true } : next(specifier, context)
  },
  load(url, context, next) {
    return isKeepable(url) ? { format: 'module', source: sourceOf(url), shortCircuit: true } : next(url, context)
  },
})

function keep() {
  if (path === undefined || fresh.size === 0) return
  const index = {}
  const parts = []
  let start = 0
  const add = (url, text, mtimeMs, size, isAscii) => {
    index[url] = [start, text.length, mtimeMs, size, isAscii]
    parts.push(text)
    start += text.length
  }
  for (const [url, [from, length, ...rest]] of Object.entries(kept)) {
    const text = fresh.has(url) ? undefined : part(base + from, length)
    if (text !== undefined) add(url, text, ...rest)
  }
  for (const [url, { source, mtimeMs, size }] of fresh) {
    const text = Buffer.from(source)
    add(url, text, mtimeMs, size, text.length === source.length ? 1 : 0)
  }
  const head = Buffer.from(JSON.stringify(index))
  const headBytes = Buffer.alloc(4)
  headBytes.writeUInt32LE(head.length)
  const draft = `${path}.${process.pid}.draft`
  try {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(draft, Buffer.concat([headBytes, head, ...parts]))
    renameSync(draft, path)
  } catch {
    // Where nothing can be kept, the next start takes as long as this one.
    discard(draft)
  }
  fresh.clear()
}

function discard(path) {
  try {
    rmSync(path, { force: true })
  } catch {
    // It is not there, then.
  }
}

// Once the start is over. Threads may be ended without notice, so they do not wait.
setTimeout(keep, isMainThread ? 2000 : 200).unref()
process.on('exit', keep)
