import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const packageRoot = join(import.meta.dirname, '..', '..')

/**
 * A text that comes with the program, by its path in the package; undefined where the package lacks it.
 * Reads at once, which is right only for what is asked for rarely and kept.
 */
export function bundledText(path: string): string | undefined {
  try {
    return readFileSync(join(packageRoot, path), 'utf8')
  } catch {
    return undefined
  }
}
