/** The commands that docs show, and programs by the names that docs call them by. */
import { chmodSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const repository = join(import.meta.dirname, '..', '..')

/** Pages with a story of their own, each typed from its beginning to its end on a cluster of its own. */
export const guides = globSync('docs/guides/*.md', { cwd: repository }).sort()

/** Pages whose commands stand alone: they are typed one after another on one cluster. */
export const pagesOfOneCluster = ['docs/recipes.md', 'docs/kubectl.md', 'docs/autoscaling.md', 'docs/nodes.md']

export const typedPages = [...guides, ...pagesOfOneCluster]

/** The blocks that a reader is to type; those that say why nobody does are left out. */
export function shellBlocks(page: string): string[] {
  const text = readFileSync(join(repository, page), 'utf8')
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].map(([, block = '']) => block)
}

/** The block of a page that shows what is on the screen then. */
export function screenBlock(page: string, title: string): string {
  const text = readFileSync(join(repository, page), 'utf8')
  return new RegExp(`^\`\`\`text ${title}\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(text)?.[1] ?? ''
}

/** Makes a directory with `typernetes` and `tn`, and gives the PATH that begins with it. */
export function pathWithProgram(directory: string): string {
  mkdirSync(directory, { recursive: true })
  for (const name of ['typernetes', 'tn']) {
    writeFileSync(join(directory, name), `#!/bin/sh\nexec '${process.execPath}' '${join(repository, 'bin/typernetes.js')}' "$@"\n`)
    chmodSync(join(directory, name), 0o755)
  }
  return `${directory}:${dirname(process.execPath)}:${process.env['PATH']}`
}
