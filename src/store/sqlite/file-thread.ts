/** The thread that owns the store's file. */
import { nodeFiles } from '#base/files.ts'
import { nodeSqlite } from '#base/sqlite.ts'
import { threadSide } from '#base/worker.ts'
import { FileServer } from '#store/sqlite/file-server.ts'
import type { FileReply, FileRequest } from '#store/sqlite/thread-protocol.ts'

const side = threadSide<FileRequest, FileReply>()
const server = new FileServer(nodeSqlite, nodeFiles, (reply, transfer) => side.post(reply, transfer))
side.onMessage((request) => void server.handle(request))
