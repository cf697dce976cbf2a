// Finds a Node.js that is new enough: one installed beside the package, one fetched before, or one that is fetched now.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { runtimes } from './node-runtimes.js'

/** The path of the program. Throws with a sentence that says what to do. */
export function findRuntime({ wanted, cache }) {
  const platform = `${process.platform}-${process.arch}`
  const runtime = runtimes[platform]
  const needed = `it needs Node.js ${wanted} or newer, and this is ${process.version}`
  if (runtime === undefined) throw new Error(`${needed}; install Node.js ${wanted} (there is none to fetch for ${platform})`)
  const kept = join(cache, `${runtime.name}-${runtime.version}`)
  return installed(runtime) ?? programIn(kept, runtime) ?? fetched(runtime, kept, needed)
}

function installed({ name }) {
  try {
    return existing(dirname(createRequire(import.meta.url).resolve(`${name}/package.json`)))
  } catch {
    return undefined
  }
}

const programIn = (directory, { name }) => existing(join(directory, 'node_modules', name))

function existing(folder) {
  const program = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node')
  return existsSync(program) ? program : undefined
}

function fetched(runtime, kept, needed) {
  const what = `${runtime.name}@${runtime.version}`
  process.stderr.write(`typernetes: ${needed}: fetching ${what} from the npm registry, this once\n`)
  mkdirSync(dirname(kept), { recursive: true })
  // Others may do the same at this moment: whoever is ready first wins.
  const draft = mkdtempSync(`${kept}.`)
  try {
    const { command, first } = npm()
    const args = [
      'install',
      '--prefix',
      draft,
      '--no-save',
      '--ignore-scripts',
      '--no-audit',
      '--no-fund',
      '--prefer-offline',
      '--loglevel=error',
      what,
    ]
    const { status, error } = spawnSync(command, [...first, ...args], {
      stdio: ['ignore', 'ignore', 'inherit'],
      cwd: draft,
      shell: process.platform === 'win32',
    })
    if (error !== undefined || status !== 0 || programIn(draft, runtime) === undefined) {
      throw new Error(
        `${needed}; ${what} could not be fetched${error === undefined ? '' : ` (${error.message})`}; install Node.js ${wantedOf(runtime)}, or look at your connection to the npm registry`,
      )
    }
    try {
      renameSync(draft, kept)
    } catch {
      // Somebody else was first.
    }
    return programIn(kept, runtime) ?? programIn(draft, runtime)
  } finally {
    if (programIn(kept, runtime) !== undefined) rmSync(draft, { recursive: true, force: true })
  }
}

const wantedOf = ({ version }) => version.split('.')[0]

/** npx and npm run tell which npm they are. */
function npm() {
  const own = process.env.npm_execpath
  return own?.endsWith('.js') ? { command: process.execPath, first: [own] } : { command: 'npm', first: [] }
}
