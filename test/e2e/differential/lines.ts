/** The command lines that are compared, in chapters: the lines of a chapter build on each other, each side in a namespace of its own. */

import { applying } from './applying-lines.ts'
import { changing } from './changing-lines.ts'
import { creating } from './creating-lines.ts'
import { describing } from './describing-lines.ts'
import { kustomizations } from './kustomizations.ts'
import { kustomizing } from './kustomizing-lines.ts'
import { looking } from './looking-lines.ts'
import { manifests } from './manifests.ts'
import { reading } from './reading-lines.ts'
import { usage } from './usage-lines.ts'

export type Line = {
  /** What follows `kubectl`; `{ns}` is the namespace, `{dir}` the directory of the manifests. */
  run: string
  input?: string
  /** The first minor version that does it this way. */
  since?: number
  /** Its requests are not compared. */
  readsOnly?: boolean
}

export type Chapter = { name: string; lines: readonly Line[] }

/** Each text line is a command line; `36| …` holds from 1.36 on. */
export function linesOf(text: string): Line[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => {
      const since = /^(\d\d)\| /.exec(line)?.[1]
      return since === undefined ? { run: line } : { run: line.slice(4), since: Number(since) }
    })
}

/** Files that the lines speak of, by their path. */
export const files: Readonly<Record<string, string>> = { ...manifests, ...kustomizations }

export const chapters: readonly Chapter[] = [usage, creating, reading, applying, changing, looking, describing, kustomizing]
