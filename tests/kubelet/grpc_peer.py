#!/usr/bin/python3
"""Debian's gRPC as peer. Messages are bytes here, in base64 on the command line and in the output.

  call SOCKET PATH MESSAGE [SECONDS]   prints the answer, or the status: CODE DETAILS
  watch SOCKET PATH COUNT              prints the first COUNT answers of a stream, then cancels it
  serve SOCKET                         /a/Echo, /a/Refuse, /a/Sleep, /a/Many (answers with as many bytes as it is asked for)"""
import base64
import sys
import threading
import time

import grpc

OPTIONS = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1), ("grpc.http2.max_pings_without_data", 0)]


def call(socket, path, message, seconds="20"):
    with grpc.insecure_channel(f"unix:{socket}", options=OPTIONS) as channel:
        try:
            answer = channel.unary_unary(path)(base64.b64decode(message), timeout=float(seconds))
            print(base64.b64encode(answer).decode())
        except grpc.RpcError as error:
            print(error.code().name, error.details())


def watch(socket, path, count):
    with grpc.insecure_channel(f"unix:{socket}", options=OPTIONS) as channel:
        answers = channel.unary_stream(path)(b"")
        for _ in range(int(count)):
            print(base64.b64encode(next(answers)).decode(), flush=True)
        answers.cancel()


class Methods(grpc.GenericRpcHandler):
    def service(self, details):
        methods = {"/a/Echo": lambda request, context: request, "/a/Refuse": refuse, "/a/Sleep": sleep,
                   "/a/Many": lambda request, context: b"x" * int(request)}
        if details.method not in methods:
            return None
        return grpc.unary_unary_rpc_method_handler(methods[details.method])


def refuse(request, context):
    context.abort(grpc.StatusCode.FAILED_PRECONDITION, request.decode())


def sleep(_, context):
    gone = threading.Event()
    context.add_callback(gone.set)
    left = context.time_remaining()
    gone.wait()
    print("left" if left < 3600 else "none", flush=True)
    return b""


def serve(socket):
    from concurrent import futures
    server = grpc.server(futures.ThreadPoolExecutor(4), options=OPTIONS)
    server.add_generic_rpc_handlers((Methods(),))
    server.add_insecure_port(f"unix:{socket}")
    server.start()
    print("serving", flush=True)
    while True:
        time.sleep(3600)


{"call": call, "watch": watch, "serve": serve}[sys.argv[1]](*sys.argv[2:])
