"""The console: a page in the browser that shows a machine and moves it. A client like any other."""
