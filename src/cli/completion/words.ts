import type { CommandLine } from '#cli/flags/parse-command-line.ts'
import type { ClusterWords } from './cluster-words.ts'

/** What a shell may do with the words: bits of a number, as the library has them that kubectl is made with. */
export const directives = { plain: 0, noSpace: 2, noFiles: 4, fileExtensions: 8 } as const

export type Words = {
  words: readonly string[]
  directive: number
  /** A few words about one of them, for shells that show them. */
  summaryOf?(word: string): string | undefined
}

/** Where only the command line is known. */
export type Position = { line: CommandLine; cluster: ClusterWords; last: string }
